"""The annotations of the package are checked while the tests run."""

from pathlib import Path

import numpy as np
import pytest
from jaxtyping import TypeCheckError

import sureflow
from sureflow.data.normalize import Standard
from sureflow.models import View
from sureflow.validation import shortened


def test_false_shapes_and_types_are_noticed():
    with pytest.raises(TypeCheckError):
        Standard(np.zeros(2), np.ones(3))
    with pytest.raises(TypeCheckError):
        View(np.zeros((3, 2)), np.zeros((4, 5)), np.zeros((5, 1)), ("p",))
    with pytest.raises(TypeCheckError):
        shortened("text", most="long")  # type: ignore[arg-type]


def test_whole_numbers_are_numbers_and_classes_give_themselves():
    assert isinstance(Standard.fit(np.arange(6.0).reshape(2, 3), axis=0), Standard)
    assert sureflow.Runs.from_arrays({"a": [1, 2, 3]}, [[0], [1]], {"p": np.ones((3, 2))}, ranges={"a": (0, 5)})


def test_users_are_shown_the_annotations():
    assert (Path(sureflow.__file__).parent / "py.typed").exists()
