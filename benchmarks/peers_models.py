"""Peers for benchmarks/peers.py, in an environment of their own: fits some and stores what they predict.

    python benchmarks/peers_models.py METHODS GIVEN.npz FOLDER SECONDS

GIVEN has `inputs` (run, parameter), `fields` (run, value) and `queries` (condition, parameter), all of order one. For each of
the methods, separated by commas, FOLDER/METHOD.npz gets `mean` (condition, value), `std` where the method has bars, and the
processor seconds of fit and prediction, and METHOD.json what the programs said. Each runs in a process of its own, forked after
the imports, which may take so many processor seconds. Nothing of sureflow is imported. Methods that end in -tuned choose
kernels by five folds over the runs; the others are as they come.
"""

import contextlib
import importlib
import io
import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np

KERNELS = ("linear", "thin_plate_spline", "cubic", "quintic")
ENERGY = 0.99999  # of the fields' variance that the modes keep, where a method needs few of them


def scipy_rbf(x, y, kernel="thin_plate_spline"):
    from scipy.interpolate import RBFInterpolator

    fitted = RBFInterpolator(x, y, kernel=kernel)
    return lambda q: (fitted(q), None)


def best_kernel(x, y):
    """The kernel with the least error over five folds of the runs; a kernel that needs more runs than there are is left out."""
    from scipy.interpolate import RBFInterpolator

    fold = np.random.default_rng(0).permutation(len(x)) % min(5, len(x))
    errors = {}
    for kernel in KERNELS:
        try:
            left_out = [
                np.abs(RBFInterpolator(x[fold != k], y[fold != k], kernel=kernel)(x[fold == k]) - y[fold == k]).mean()
                for k in range(fold.max() + 1)
            ]
            errors[kernel] = np.mean(left_out)
        except (ValueError, np.linalg.LinAlgError):
            continue
    return min(errors, key=errors.get) if errors else "thin_plate_spline"


def ezyrb_rbf(x, y, kernel="thin_plate_spline"):
    from ezyrb import POD, RBF, Database, ReducedOrderModel

    fitted = ReducedOrderModel(Database(x, y), POD(), RBF(kernel=kernel)).fit()
    return lambda q: (np.asarray(fitted.predict(q)), None)


def ezyrb_gpr(x, y, kernel=None, restarts=20):
    """One process for all modes; its `return_variance` gives standard deviations, of the modes' coefficients.

    With normalized coefficients, the last modes count as much as the first and make the scales collapse: not so if tuned.
    """
    from ezyrb import GPR, POD, Database, ReducedOrderModel

    rank, normalizer = (-1, True) if kernel is None else (ENERGY, False)
    process = GPR(kernel, normalizer=normalizer, optimization_restart=restarts)
    fitted = ReducedOrderModel(Database(x, y), POD(rank=rank), process).fit()

    def predict(q):
        coefficients, std = fitted.approximation.predict(q, return_variance=True)
        modes = fitted.reduction.modes
        std = std if std.ndim == 2 else np.repeat(std[:, None], modes.shape[1], axis=1)
        return coefficients @ modes.T, np.sqrt(std**2 @ (modes.T**2))

    return predict


def matern(n_parameters):
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    scales = Matern(np.ones(n_parameters), (1e-2, 1e3), nu=2.5)
    return ConstantKernel(1.0, (1e-6, 1e8)) * scales + WhiteKernel(1e-6, (1e-12, 1e2))


def sklearn_gpr(x, y):
    """Principal components and one process for all of them, as it comes."""
    from sklearn.decomposition import PCA
    from sklearn.gaussian_process import GaussianProcessRegressor

    components = PCA(ENERGY, svd_solver="full").fit(y)
    coefficients = components.transform(y)
    fitted = GaussianProcessRegressor(normalize_y=True).fit(x, coefficients)

    def predict(q):
        mean, std = fitted.predict(q, return_std=True)
        std = std if std.ndim == 2 else std[:, None]
        return components.inverse_transform(mean), np.sqrt(std**2 @ components.components_**2)

    return predict


def sklearn_gpr_tuned(x, y):
    """Principal components, and a process with scales of its own for each."""
    from sklearn.decomposition import PCA
    from sklearn.gaussian_process import GaussianProcessRegressor

    components = PCA(0.9999, svd_solver="full").fit(y)
    fitted = [
        GaussianProcessRegressor(matern(x.shape[1]), normalize_y=True, random_state=0).fit(x, column)
        for column in components.transform(y).T
    ]

    def predict(q):
        mean, std = np.array([one.predict(q, return_std=True) for one in fitted]).transpose(1, 2, 0)
        return components.inverse_transform(mean), np.sqrt(std**2 @ components.components_**2)

    return predict


def smt_podi(x, y, options=None, energy=0.9999):
    from smt.applications import PODI

    fitted = PODI()
    fitted.compute_pod(np.ascontiguousarray(y.T), pod_type="global", tol=energy, seed=0)
    fitted.set_interp_options("KRG", [options or {}])
    fitted.set_training_values(x)
    fitted.train()
    return lambda q: (fitted.predict_values(q).T, np.sqrt(np.maximum(fitted.predict_variances(q).T, 0.0)))


METHODS = {
    "scipy-rbf": scipy_rbf,
    "scipy-rbf-tuned": lambda x, y: scipy_rbf(x, y, best_kernel(x, y)),
    "ezyrb-pod-rbf": ezyrb_rbf,
    "ezyrb-pod-rbf-tuned": lambda x, y: ezyrb_rbf(x, y, best_kernel(x, y)),
    "ezyrb-pod-gpr": ezyrb_gpr,
    "ezyrb-pod-gpr-tuned": lambda x, y: ezyrb_gpr(x, y, matern(x.shape[1]), 2),
    "sklearn-pca-gpr": sklearn_gpr,
    "sklearn-pca-gpr-tuned": sklearn_gpr_tuned,
    "smt-podi": smt_podi,
    "smt-podi-tuned": lambda x, y: smt_podi(x, y, {"corr": "matern52"}),
}


# What a method imports, before its seconds are counted.
PACKAGES = {
    "scipy": "scipy.interpolate",
    "ezyrb": "ezyrb",
    "sklearn": "sklearn.gaussian_process",
    "smt": "smt.applications",
}


def fit_and_predict(method: str, given: str, folder: Path, most: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    arrays = np.load(given)
    x, y, q = arrays["inputs"], arrays["fields"], arrays["queries"]
    with warnings.catch_warnings(record=True) as heard, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        began = time.process_time()
        predict = METHODS[method](x, y)
        fitted = time.process_time()
        mean, std = predict(q)
        seconds = fitted - began, time.process_time() - fitted
    said = sorted({f"{one.category.__name__}: {str(one.message).splitlines()[0][:100]}" for one in heard})
    stored = {"mean": np.asarray(mean, np.float32)} | ({} if std is None else {"std": np.asarray(std, np.float32)})
    np.savez(folder / f"{method}.npz", **stored, seconds=seconds)
    (folder / f"{method}.json").write_text(json.dumps(said))


def main() -> None:
    methods, given, folder, most = sys.argv[1:]
    for package in {PACKAGES[method.partition("-")[0]] for method in methods.split(",")}:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            importlib.import_module(package)
    for method in methods.split(","):
        child = os.fork()
        if not child:
            fit_and_predict(method, given, Path(folder), int(most))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            (Path(folder) / f"{method}.json").write_text(
                json.dumps(f"needs more than {most} processor seconds, and was stopped")
            )


if __name__ == "__main__":
    main()
