"""The one place where failures of the machine become sentences: disks, permissions, memory, names that are too long."""

import errno
from pathlib import Path

from sureflow.errors import SureflowError

DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
LONGEST_SENTENCE = 400  # characters
LONGEST_WORD = 120
# What the text of an error has in it that a compiled program raises when it gets no more memory.
NO_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory", "bad_alloc", "Unable to allocate", "Cannot allocate memory")


def system_sentence(error: OSError, path: Path | str | None = None, kept: str = "") -> str:
    """What the operating system refused and the way out; `kept` is what is not lost by it."""
    name = path or error.filename or "a file"
    if error.errno in DISK_IS_FULL:
        return f"the disk of {name} is full: make room and do the same again{kept}"
    if error.errno == errno.ENAMETOOLONG:
        return f"{name} is a name too long for the file system: choose a shorter one"
    if error.errno in FORBIDDEN:
        return f"{name} cannot be written ({error.strerror}): change its permissions, or choose another path"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return f"{name} cannot be opened: too many files are open; raise their number (ulimit -n)"
    if error.errno == errno.ENOMEM:
        return memory_sentence()
    return f"{name} cannot be written ({error.strerror or error}): choose another path"


def memory_sentence() -> str:
    return "there is not enough memory: use fewer or smaller runs, or a machine (or a limit, ulimit -v) with more of it"


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ended, whoever noticed: Python, NumPy or a compiled program."""
    return isinstance(error, MemoryError) or any(words in str(error)[:2000] for words in NO_MEMORY)


def sentence_of(error: BaseException) -> str | None:
    """What a user is told of a failure that is theirs or the machine's; None of any other, which is a defect of ours."""
    if isinstance(error, SureflowError):
        return str(error)
    if isinstance(error, OSError):
        return system_sentence(error).replace("cannot be written", "cannot be read or written")
    if is_out_of_memory(error):
        return memory_sentence()
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, UnicodeError):
        return f"a name or text has characters that cannot be written here ({error.reason}): use plain ones"  # type: ignore[attr-defined]
    return None


def one_line(sentence: str) -> str:
    """A sentence that fits on a screen, whatever a file or a user put into it."""
    words = [_cut(word, LONGEST_WORD) for word in sentence.split()]
    text = "".join(letter if letter.isprintable() else "?" for letter in " ".join(words))
    return _cut(text, LONGEST_SENTENCE)


def _cut(text: str, most: int) -> str:
    """The beginning and the end of a text; what is wrong stands at the one, the way out at the other."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]}...{text[-(most // 3) + 3 :]}"
