"""What the models of whole fields share."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sureflow.errors import SureflowError
from sureflow.models.contract import require_enough_runs, varying
from sureflow.runtime import one_blas_thread


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_fits_side_by_side_leave_blas_as_many_threads_as_before():
    """The first to begin is the first to end: under a limit around both, its own end lifts nothing."""

    @one_blas_thread()
    def fit(begun: threading.Event, end: threading.Event) -> None:
        begun.set()
        assert end.wait(10)

    before, fits = blas_threads(), []
    with threadpool_limits(1, user_api="blas"):
        for _ in range(2):
            begun, end = threading.Event(), threading.Event()
            thread = threading.Thread(target=fit, args=(begun, end))
            thread.start()
            assert begun.wait(10)
            fits.append((thread, end))
        for thread, end in fits:
            end.set()
            thread.join(10)
    assert blas_threads() == before


def test_the_limit_ends_with_an_error():
    @one_blas_thread()
    def fail():
        raise SureflowError("no")

    before = blas_threads()
    with pytest.raises(SureflowError):
        fail()
    assert blas_threads() == before


def test_parameters_that_do_not_vary_do_not_count():
    inputs = np.array([[0.0, 1.0, 5.0], [1.0, 1.0, 6.0], [2.0, 1.0, 5.0]])
    assert varying(inputs).tolist() == [True, False, True]
    require_enough_runs(inputs[[0, 1, 2, 0]], "a model")
    with pytest.raises(SureflowError, match="3 runs are too few for a model over 2 parameters: it needs 4"):
        require_enough_runs(inputs, "a model")
    with pytest.raises(SureflowError, match="all 3 runs are at one condition: a model needs a parameter that varies"):
        require_enough_runs(inputs[[0, 0, 0]], "a model")
