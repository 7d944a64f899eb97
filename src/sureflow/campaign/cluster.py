"""Where runs are computed: one single-threaded process a core on this machine, or the workers of a Dask scheduler."""

import contextlib
import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import cast

import dask.config
from distributed import Client, LocalCluster

from sureflow.campaign import deaf_worker
from sureflow.errors import SureflowError

# Clients are not made Dask's default: lazy arrays that are read meanwhile, or after a scheduler did not answer, have no
# business there.

# JAX reads these once, when a worker imports it. One thread a process: a core computes one run at a time.
SINGLE_THREADED = {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "NPROC": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
}
# The scheduler's HTTP server, which a cluster without a dashboard has all the same: several jobs may share a machine.
ANY_PORT = {"dashboard_address": "localhost:0"}
FIRST_WORKER_WITHIN = 30.0  # seconds


@contextlib.contextmanager
def local_workers(count: int) -> Iterator[Executor]:
    """Spawned worker processes on this machine, without a dashboard."""
    environment = dict(dask.config.get("distributed.nanny.pre-spawn-environ", {})) | SINGLE_THREADED
    with dask.config.set({"distributed.nanny.pre-spawn-environ": environment}), contextlib.ExitStack() as stack:
        try:
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                memory_limit=None,
                dashboard_address=None,  # type: ignore[arg-type]
                scheduler_kwargs=ANY_PORT,
                silence_logs=logging.CRITICAL,
                preload=[deaf_worker.__name__],
            )
            client = Client(stack.enter_context(cluster), set_as_default=False)
        except (RuntimeError, OSError) as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
            raise SureflowError(
                f"the workers on this machine did not start ({reason}); finished runs are kept: start the campaign "
                "again to continue"
            ) from error
        yield cast(Executor, stack.enter_context(client).get_executor())


@contextlib.contextmanager
def scheduler_workers(address: str) -> Iterator[Executor]:
    """The workers of a running Dask scheduler; they must have this sureflow installed."""
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise SureflowError(
            f"no Dask scheduler answers at {address!r}; give the address that `dask scheduler` prints, such as "
            "tcp://host:8786"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=FIRST_WORKER_WITHIN)
        except TimeoutError as error:
            raise SureflowError(
                f"the Dask scheduler at {address!r} has no workers; start some with `dask worker {address} --nthreads 1`"
            ) from error
        yield cast(Executor, client.get_executor())
