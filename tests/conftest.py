"""What all tests share."""

import jaxtyping
import pytest
from hypothesis import settings

# Before anything of the package is imported: every annotation is checked whenever it is met.
jaxtyping.install_import_hook("sureflow", "typechecks.check")

from sureflow.runtime import keep_compiled_programs  # noqa: E402

# What one worker has compiled, the other one and the commands do not compile again.
keep_compiled_programs()

# Compilation makes the first example slow, so there is no deadline; examples are the same in every run.
settings.register_profile("sureflow", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("sureflow")


@pytest.fixture(autouse=True, scope="session")
def one_thread_a_training():
    """Tests run side by side, a process a core: threads of their small trainings would only wait for each other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sureflow.models.network.usable_cores", lambda: 1)
        yield
