import jax.numpy as jnp
import numpy as np
import pytest

from sureflow.errors import SureflowError
from sureflow.models import FNOSettings
from sureflow.models.contract import Sizes
from sureflow.models.fno import FourierLayer, Grid, inverse_transform, transform

GRIDS = [Grid((7, 9), 3, 4), Grid((8, 8), 4, 0), Grid((5, 6, 7), 2, 2)]
each_grid = pytest.mark.parametrize("grid", GRIDS, ids=str)


def padded(values: np.ndarray, grid: Grid) -> np.ndarray:
    return np.pad(values, [(0, 0), *((0, grid.padding) for _ in grid.shape)])


def kept(grid: Grid) -> tuple[np.ndarray, ...]:
    """The kept frequencies in NumPy's spectra, the last index first, as transforms give them."""
    both = np.concatenate([np.arange(grid.modes), np.arange(1 - grid.modes, 0)])
    return np.ix_(*(both for _ in grid.shape[:-1]), np.arange(grid.modes))


@each_grid
def test_the_transform_is_the_lowest_part_of_numpys(grid):
    values = np.random.default_rng(0).normal(size=(2, *grid.shape)).astype(np.float32)
    found = np.asarray(transform(jnp.asarray(values), grid))
    full = np.fft.rfftn(padded(values, grid), axes=range(1, values.ndim))
    expected = np.stack([one[kept(grid)].T for one in full])  # the last index first
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, atol=2e-5)


@each_grid
def test_the_inverse_is_numpys_of_the_kept_frequencies(grid):
    rng, period = np.random.default_rng(1), [n + grid.padding for n in grid.shape]
    spectrum = np.zeros((*period[:-1], period[-1] // 2 + 1), complex)
    values = np.fft.rfftn(rng.normal(size=period))[kept(grid)]
    spectrum[kept(grid)] = values
    pairs = np.stack([values.T.real, values.T.imag], axis=-1)[None].astype(np.float32)
    expected = np.fft.irfftn(spectrum, period, axes=range(len(period)))[tuple(slice(n) for n in grid.shape)]
    np.testing.assert_allclose(inverse_transform(jnp.asarray(pairs), grid)[0], expected, atol=1e-5)


@each_grid
def test_a_layer_convolves_with_the_kernel_of_its_spectrum(grid):
    """Against the sum over all points in float64; frequencies below zero are the conjugates of those above."""
    layer = FourierLayer.draw(3, grid, np.random.default_rng(2))
    spectrum = (np.asarray(layer.real, float) + 1j * np.asarray(layer.imaginary, float)).transpose(1, 2, 0)
    period = [n + grid.padding for n in grid.shape]
    full = np.zeros((3, 3, *period[:-1], period[-1] // 2 + 1), complex)
    for output, rows in enumerate(spectrum):
        for channel, values in enumerate(rows):
            full[output, channel][kept(grid)] = values.reshape(grid.frequencies[::-1]).T
    kernel = np.fft.irfftn(full, period, axes=range(2, 2 + len(period)))
    v = np.random.default_rng(3).normal(size=(3, *grid.shape))
    expected = np.zeros((3, *grid.shape))
    for place in np.ndindex(*grid.shape):
        for source in np.ndindex(*grid.shape):
            away = tuple((a - b) % n for a, b, n in zip(place, source, period, strict=True))
            expected[(slice(None), *place)] += kernel[(slice(None), slice(None), *away)] @ v[(slice(None), *source)]
    found = layer.convolve(jnp.asarray(v.reshape(3, -1), np.float32), grid)
    np.testing.assert_allclose(np.asarray(found).reshape(expected.shape), expected, atol=1e-5)


def test_more_modes_than_the_mesh_has_are_refused():
    with pytest.raises(
        SureflowError, match=r"model.modes=5 needs 10 points or more .* which has 12x9: choose 4 at most"
    ):
        FNOSettings(modes=5).build(Sizes(2, 2, 4, (12, 9)), 4, np.random.default_rng(0))
    assert FNOSettings(modes=4).build(Sizes(2, 2, 4, (12, 9)), 4, np.random.default_rng(0)).grid.modes == 4
