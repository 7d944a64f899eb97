"""`sureflow runs`: join, split and extend stores of runs."""

from pathlib import Path
from typing import Annotated

import typer

from sureflow.cli.inputs import parse_share
from sureflow.cli.remarks import begin
from sureflow.errors import Exists

Store = Annotated[Path, typer.Argument(help="A store of runs, such as runs.zarr.")]
Sources = Annotated[list[Path], typer.Argument(help="Stores of runs, or other files of runs (.npz).")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing stores.")]


def join(
    sources: Sources,
    output: Annotated[Path, typer.Option("--output", "-o", help="The store to create.")],
    overwrite: Overwrite = False,
) -> None:
    """Join the runs of several stores in a new store.

    They must agree in parameters, fields, units, mesh and how they were made, and no condition may occur twice.
    """
    begin(f"joining {', '.join(map(str, sources))}")

    from sureflow.data.runs import Runs
    from sureflow.importers import open_file

    joined = Runs.join([open_file(source) for source in sources])
    joined.save(output, overwrite=overwrite)
    print(f"{output}: {joined}")


def split(
    source: Annotated[Path, typer.Argument(help="A store of runs, or another file of runs (.npz).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for train.zarr and test.zarr.")],
    test: Annotated[str, typer.Option(help="Fraction of the runs to test on, or their number.")] = "0.2",
    seed: Annotated[int, typer.Option(help="Seed of the random choice.")] = 0,
    overwrite: Overwrite = False,
) -> None:
    """Split runs into a training store and a test store.

    The test runs are chosen at random.
    """
    share = parse_share("test", test)
    begin(f"splitting {source}")

    from sureflow.importers import open_file

    parts = zip(("train.zarr", "test.zarr"), open_file(source).split(share, seed), strict=True)
    stores = {output / name: runs for name, runs in parts}
    for store in stores:
        if store.exists() and not overwrite:
            raise Exists(f"{store} exists already: choose another folder, or allow it to be replaced")
    for store, runs in stores.items():
        runs.save(store, overwrite=overwrite)
        print(f"{store}: {runs}")


def export(
    source: Annotated[Path, typer.Argument(help="A store of runs, or another file of runs (.npz).")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File for the fields: .pvd, .nc, .zarr or .csv; for one run also .vtu ..."),
    ],
    run: Annotated[
        list[int] | None, typer.Option(help="Number of a run, counted from 0; repeatable. By default all.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write runs as files for other programs, such as ParaView."""
    begin(f"exporting {source}")

    from sureflow.export.exporters import write_runs_to
    from sureflow.importers import open_file

    chosen = write_runs_to(open_file(source), output, run, overwrite=overwrite)
    print(f"{output}: {chosen}")


def add(store: Store, sources: Sources) -> None:
    """Add runs to a store, either all of them or none.

    They must agree with the store in parameters, fields, units and mesh, and be at conditions that it does not have.
    """
    begin(f"adding to {store}")

    from sureflow.data.runs import Runs
    from sureflow.data.store import add_runs, open_runs
    from sureflow.importers import open_file

    add_runs(store, Runs.join([open_file(source) for source in sources]))
    print(f"{store}: {open_runs(store)}")


def levels(
    sources: Annotated[list[Path], typer.Argument(help="Stores of runs on nested meshes, the finest first.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The store to create.")],
    overwrite: Overwrite = False,
) -> None:
    """Put runs on several nested meshes into one store.

    Every cell of a mesh must be made of whole cells of the next finer one. The model `levels` learns from all of them.
    """
    begin(f"joining the levels {', '.join(map(str, sources))}")

    from sureflow.errors import SureflowError
    from sureflow.importers import open_file

    if len(sources) < 2:
        raise SureflowError(
            f"levels need several stores, and only {sources[0]} is given: give that of a coarser mesh too"
        )
    *finer, joined = [open_file(source) for source in sources]
    for runs in reversed(finer):
        joined = runs.with_coarser(joined)
    joined.save(output, overwrite=overwrite)
    print(f"{output}: {joined}")
