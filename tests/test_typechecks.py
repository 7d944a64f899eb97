"""The annotations of the package are checked while the tests run."""

from pathlib import Path

import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError

import sureflow
from sureflow.data.normalize import Standard
from sureflow.models import View
from sureflow.validation import shortened
from typechecks import checked


def test_false_shapes_and_types_are_noticed():
    with pytest.raises(TypeCheckError):
        Standard(np.zeros(2), np.ones(3))
    with pytest.raises(TypeCheckError):
        View(np.zeros((3, 2)), np.zeros((4, 5)), np.zeros((5, 1)), ("p",))
    with pytest.raises(TypeCheckError):
        shortened("text", most="long")  # type: ignore[arg-type]


def test_what_is_returned_is_checked_with_the_sizes_of_the_arguments():
    def halved(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return values[::2]

    with pytest.raises(TypeCheckError):
        checked(halved)(np.zeros(4))


def test_names_that_only_a_type_checker_imports_leave_the_others_checked():
    def labelled(data: "nowhere.Dataset", most: int) -> int:  # type: ignore[name-defined]
        return most

    assert checked(labelled)(None, 3) == 3
    with pytest.raises(TypeCheckError):
        checked(labelled)(None, "long")


def test_whole_numbers_are_numbers_and_classes_give_themselves():
    assert isinstance(Standard.fit(np.arange(6.0).reshape(2, 3), axis=0), Standard)
    assert sureflow.Runs.from_arrays({"a": [1, 2, 3]}, [[0], [1]], {"p": np.ones((3, 2))}, ranges={"a": (0, 5)})


def test_users_are_shown_the_annotations():
    assert (Path(sureflow.__file__).parent / "py.typed").exists()
