"""Learn from runs of your own: any parameters, any fields, any mesh.

Here the "solver" is a formula, a bump of pressure that moves and widens with two parameters; put your arrays in its
place. Prints the error and the error bar at a condition that no run has. A bar is what errors are at conditions like this one:
at a single one, the error may well be half of it.
"""

import numpy as np

import sureflow as sf


def pressure(angle: float, thickness: float, points: np.ndarray) -> np.ndarray:
    """Pa at points (x, y) in meters."""
    x, y = points.T
    return 1e5 * (1 + angle * np.exp(-((x - 0.1 * angle) ** 2 + y**2) / (2 * thickness**2)))


def main() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (200, 2))
    angle, thickness = rng.uniform(0.0, 2.0, 40), rng.uniform(0.3, 0.6, 40)
    runs = sf.Runs.from_arrays(
        parameters={"angle": angle, "thickness": thickness},
        coordinates=points,
        fields={"p": [pressure(*condition, points) for condition in zip(angle, thickness, strict=True)]},
        units={"p": "Pa", "angle": "deg"},
    )
    model = sf.fit(runs)  # the best of several models by cross-validation; sf.fit(runs, "interpolation") fits that one
    field = model.predict(angle=1.2, thickness=0.45)
    error = abs(field.p - pressure(1.2, 0.45, points)).mean().item()
    print(model)
    print(f"mean error {error:.0f} Pa, mean standard deviation {field.p_std.mean().item():.0f} Pa, {field.verdict}")


if __name__ == "__main__":
    main()
