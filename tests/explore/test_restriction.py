"""A program for the values that a page draws."""

import numpy as np
import pytest

from explore.trained import block_volume, of_kind
from sureflow.explore.answers import program_of
from sureflow.explore.restriction import REACH, restricted_program
from sureflow.explore.surfaces import Cut, drawn, restricted


def used_values(surrogate, cut=None):
    middle = surrogate.space.at(surrogate.domain.lower)
    return restricted(drawn(surrogate.space, middle, cut), "cells")[0]


def both(surrogate, used):
    program = program_of(surrogate, [])
    return program, restricted_program(program, used, surrogate.space.n_points, surrogate.space.location)


@pytest.mark.parametrize("cut", [None, Cut("z", 0.04), Cut("z", 0.6)])
def test_it_gives_what_the_whole_one_gives(cut):
    surrogate = block_volume()
    used = used_values(surrogate, cut)
    whole, made = both(surrogate, used)
    low, high = surrogate.domain.lower, surrogate.domain.upper
    at = np.random.default_rng(0).uniform(low - 0.3 * (high - low), high + 0.3 * (high - low), (20, 2))
    found, wanted = made.run(at), whole.run(at)
    assert found.keys() == wanted.keys()
    for name in ("mean", "std"):
        np.testing.assert_array_equal(found[name], wanted[name][:, :, used])


def test_of_a_slice_it_holds_no_more_than_bars_need():
    surrogate = block_volume()
    used = used_values(surrogate, Cut("z", 0.6))
    made = both(surrogate, used)[1]
    assert len(used) == 20  # one of twelve layers, and three to each side
    assert {rows.shape[2] for rows in made.rows.values()} == {20, 7 * 20}
    np.testing.assert_array_equal(made.arrays[REACH][:20], used)


def test_without_neighbors_it_holds_what_is_drawn():
    surrogate = of_kind("volume")
    made = both(surrogate, np.array([1, 5, 7]))[1]
    assert {rows.shape[2] for rows in made.rows.values()} == {3}
    assert REACH not in made.arrays
