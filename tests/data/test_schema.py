import pytest

from sureflow.data.schema import Status, first_difference


def test_states_have_words():
    assert [status.words for status in Status] == ["to do", "converged", "stalled", "failed"]


@pytest.mark.parametrize(
    ("here", "there", "sentence"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, "it.a.b is [1, 3] there and [1, 2] here"),
        ({"a": 1}, {}, "it.a is None there and 1 here"),
        ({"a": {}}, {}, "it.a is missing there but not here"),
        ({"a": 1}, {"a": {}}, "it.a is there and not here"),
        ({}, {"a": 1}, "it.a is 1 there and None here"),
    ],
)
def test_the_first_difference_is_named(here, there, sentence):
    assert first_difference(here, there, "it") == sentence
