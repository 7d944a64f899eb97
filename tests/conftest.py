"""What all tests share."""

import os
import sys

import pytest
from hypothesis import settings

from typechecks import check_annotations

# Before the package is imported. What Python compiles is kept, so that other processes of the tests need not do it again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
check_annotations()

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


@pytest.fixture(autouse=True, scope="session")
def coarse_pictures():
    """Nobody looks at the pictures of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sureflow.report.figures.DPI", 40)
        yield
