"""Which run and which point a sample is: drawn inside the compiled program, a function of key and step alone."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from sureflow.models.contract import Sizes, View


class TrainingView(eqx.Module):
    """Runs as they lie on the device, in float32; one block of `fields` per variable."""

    coordinates: Float[Array, "point coordinate"] | Float[Array, "case point coordinate"]
    parameters: Float[Array, "case parameter"]
    fields: Float[Array, "variable case point"]
    shape: tuple[int, ...] | None = eqx.field(static=True, default=None)

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.parameters.shape[1], self.coordinates.shape[-1], len(self.fields), self.shape)

    @classmethod
    def of(cls, view: View) -> "TrainingView":
        """Variable by variable, so that no second float64 copy is held."""
        fields = np.empty((view.fields.shape[1], len(view.fields), view.fields.shape[2]), np.float32)
        for variable, block in enumerate(fields):
            block[:] = view.fields[:, variable]
        return cls(
            jnp.asarray(view.coordinates, jnp.float32),
            jnp.asarray(view.inputs, jnp.float32),
            jnp.asarray(fields),
            view.shape,
        )


class EpochOrder(eqx.Module):
    """One epoch: the runs in random order, the points in random order, and where in the latter each run begins.

    A run reads its points from one shuffled list of all points, from a random place of its own on: a fresh subset
    without repetition for every run, at the price of one shuffle an epoch.
    """

    runs: Int[Array, " case"]
    points: Int[Array, " point"]
    start: Int[Array, " case"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, n_runs: int, n_points: int) -> "EpochOrder":
        # One draw for all three, since it is draws that take long to compile; sorting random bits shuffles.
        bits = jax.random.bits(key, (2 * n_runs + n_points,))
        runs, start, points = jnp.split(bits, [n_runs, 2 * n_runs])
        return cls(jnp.argsort(runs), jnp.argsort(points), (start % n_points).astype(jnp.int32))

    def batch(self, step: Int[Array, ""], size: int) -> tuple[Int[Array, " sample"], Int[Array, " sample"]]:
        """Run and point of the samples of one step. Samples go round the runs, one point each, and round again."""
        sample = step * size + jnp.arange(size)
        visit, place = jnp.divmod(sample, self.runs.size)
        run = self.runs[place]
        return run, self.points[(self.start[run] + visit) % self.points.size]

    def whole_runs(self, step: Int[Array, ""], size: int) -> Int[Array, " sample"]:
        """The runs of one step of networks for whole fields, round and round."""
        return self.runs[(step * size + jnp.arange(size)) % self.runs.size]

    def points_of(self, step: Int[Array, ""], count: int) -> Int[Array, " point"]:
        """Points that all runs of one step share."""
        return self.points[(step * count + jnp.arange(count)) % self.points.size]


def steps_per_epoch(n_runs: int, points_per_run: int, batch: int) -> int:
    """Whole batches that visit every run at least `points_per_run` times."""
    return -(-n_runs * points_per_run // batch)


def runs_at_once(n_runs: int, batch: int) -> int:
    """Whole runs of one step: half of them at most, so that networks that look at runs have others to look at."""
    return min(batch, max(n_runs // 2, 1))


def gather(
    view: TrainingView, variable: Int[Array, ""], run: Int[Array, " sample"], point: Int[Array, " sample"]
) -> tuple[Float[Array, "sample coordinate"], Float[Array, "sample parameter"], Float[Array, " sample"]]:
    """Coordinates, parameters and true values of one variable at the drawn samples."""
    shared = view.coordinates.ndim == 2
    x = view.coordinates[point] if shared else view.coordinates[run, point]
    return x, view.parameters[run], view.fields[variable, run, point]
