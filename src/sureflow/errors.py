"""The one exception for a user's mistake: a sentence that names the thing, its value and the way out."""


class SureflowError(Exception):
    """Shown by the command as one sentence with exit code 2; its text is meant for the person at the keyboard."""
