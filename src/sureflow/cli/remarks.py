"""What can be said before anything heavy is imported."""

import sys


def begin(words: str) -> None:
    """Print a first message on standard error, before the imports that take a second or two."""
    print(words, file=sys.stderr, flush=True)
