"""Wall shear of a laminar boundary layer against a similarity solution."""

import numpy as np
import pytest

from flow.flat_plate import SHEAR_AT, wall_shear


def test_wall_shear():
    status, x, shear = wall_shear()
    assert status == "converged"
    station, expected = SHEAR_AT
    # 2 %: the similarity solution knows neither the leading-edge shock nor the pressure that the growing layer causes.
    assert np.interp(station, x, shear) == pytest.approx(expected, rel=0.02)
