"""What all tests share."""

from hypothesis import settings

# Compilation makes the first example slow, so there is no deadline; examples are the same in every run.
settings.register_profile("sureflow", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("sureflow")
