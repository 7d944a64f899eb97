"""Learn from runs of your own: any parameters, any mesh that the runs share, any fields.

Here the "solver" is a formula, a bump of pressure that moves and widens with two parameters; put your arrays in its
place. Prints the error and the error bar at a condition that no run has.
"""

import numpy as np

from sureflow.data.dataset import Dataset
from sureflow.heads import Deterministic
from sureflow.learn import learn
from sureflow.models import DeepONetSettings
from sureflow.train import Recipe, TrainSettings


def pressure(angle: float, thickness: float, points: np.ndarray) -> np.ndarray:
    """Pa at points (x, y) in meters."""
    x, y = points.T
    return 1e5 * (1 + angle * np.exp(-((x - 0.1 * angle) ** 2 + y**2) / (2 * thickness**2)))


def main() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (200, 2))
    conditions = rng.uniform([0.0, 0.3], [2.0, 0.6], (30, 2))
    runs = Dataset.from_arrays(
        parameters={"angle": conditions[:, 0], "thickness": conditions[:, 1]},
        coordinates=points,
        fields={"p": np.array([pressure(*condition, points) for condition in conditions])},
        units={"p": "Pa"},
    )
    network = DeepONetSettings(decoder_width=32, decoder_layers=2, fourier_octaves=0)
    settings = TrainSettings(epochs=60, points_per_run="all", batch=200, learning_rate=5e-3)
    surrogate = learn(runs, Recipe(network, Deterministic(), members=4, train=settings), "xr")

    field = surrogate.predict(angle=1.2, thickness=0.45)
    error = np.abs(field.p - pressure(1.2, 0.45, points)).mean().item()
    print(f"mean error {error:.0f} Pa, mean standard deviation {field.p_std.mean().item():.0f} Pa, {field.verdict}")


if __name__ == "__main__":
    main()
