"""Failures of the machine, in one sentence each."""

import errno
import os

import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.failures import LONGEST_SENTENCE, one_line, sentence_of


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk of place is full: make room"),
        (errno.EDQUOT, "the disk of place is full: make room"),
        (errno.EROFS, "cannot be read or written (Read-only file system): change its permissions"),
        (errno.EACCES, "cannot be read or written (Permission denied): change its permissions"),
        (errno.ENAMETOOLONG, "place is a name too long for the file system: choose a shorter one"),
        (errno.EMFILE, "too many files are open; raise their number (ulimit -n)"),
        (errno.ENOMEM, "there is not enough memory"),
        (errno.EIO, "cannot be read or written (Input/output error)"),
    ],
)
def test_the_system_refuses(number, words):
    sentence = sentence_of(OSError(number, os.strerror(number), "place"))
    assert sentence is not None
    assert words in sentence
    assert number in (errno.ENOSPC, errno.EDQUOT) or "make room" not in sentence


class XlaRuntimeError(RuntimeError):
    """As a compiled program raises it."""


def test_memory_ends_whoever_notices():
    for error in (
        MemoryError(),
        np._core._exceptions._ArrayMemoryError((1 << 40,), np.dtype(float)),
        XlaRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8796093022208 bytes."),
    ):
        assert (sentence_of(error) or "").startswith("there is not enough memory: use fewer or smaller runs")


def test_our_own_sentences_are_kept_and_defects_have_none():
    assert sentence_of(SureflowError("mach=50 is outside 2..40")) == "mach=50 is outside 2..40"
    assert sentence_of(RecursionError()) == "the input is nested too deeply"
    for defect in (TypeError("unhashable"), KeyError("x"), ZeroDivisionError()):
        assert sentence_of(defect) is None


def test_a_sentence_fits_on_a_screen():
    """Whatever a file or a user put into it: its beginning and its end stay, in one line without control characters."""
    path = "a" * 5000
    sentence = one_line(f"{path} is not\na trained model:\x1b[31m " + "known: things, " * 500 + "choose another")
    assert len(sentence) <= LONGEST_SENTENCE
    assert sentence.startswith("aaaa")
    assert sentence.endswith("choose another")
    assert sentence.isprintable()
    assert one_line("mach=50 is outside 2..40") == "mach=50 is outside 2..40"
