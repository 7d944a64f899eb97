"""Proposals as files: a table for any solver, or a campaign for our own."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sureflow.acquire.proposals import LEVEL
from sureflow.campaign.contents import follow_up
from sureflow.errors import Exists, SureflowError
from sureflow.files import write_atomically
from sureflow.validation import to_toml

if TYPE_CHECKING:
    import pandas

ENDINGS = (".csv", ".toml")


def proposal_writer(
    path: Path, store: Path | None, *, overwrite: bool = False
) -> "Callable[[pandas.DataFrame, int], None]":
    """What writes a table of proposals with so many parameters, which are its first columns; refuses early.

    A campaign has all the settings of the one that made the `store`: computing it into that store adds to its runs.
    """
    if path.suffix.lower() not in ENDINGS:
        raise SureflowError(f"{path}: the ending {path.suffix!r} is not one of {', '.join(ENDINGS)}")
    if path.is_dir() or not path.parent.is_dir():
        raise SureflowError(
            f"{path} cannot be written: {'it is a folder' if path.is_dir() else 'its folder does not exist'}"
        )
    if path.exists() and not overwrite:
        raise Exists(f"{path} exists: choose another name, or allow it to be replaced")
    if path.suffix.lower() == ".csv":
        return lambda table, parameters: write_atomically(path, table.to_csv(index=False).encode())
    if store is None:
        raise SureflowError(f"{path}: a campaign needs the store of runs that it shall continue: give it as well")

    def write(table: "pandas.DataFrame", parameters: int) -> None:
        rows = [tuple(row) for row in table.iloc[:, :parameters].to_numpy(float).tolist()]
        levels = table[LEVEL].tolist() if LEVEL in table else ()
        write_atomically(path, to_toml(follow_up(store, rows, levels)).encode())

    return write
