"""The exceptions that users meet: one sentence that names the thing, its value and the way out."""


class SureflowError(Exception):
    """A mistake that the user can mend. The command shows its sentence and ends with exit code 2."""


class Refused(SureflowError):
    """An answer that is withheld because nothing vouches for it, such as a prediction far outside the training runs."""


class Unanswerable(Refused):
    """A refusal that asking for an extrapolation does not lift."""


class Exists(SureflowError):
    """Something is there already, and is replaced only if that is asked for."""
