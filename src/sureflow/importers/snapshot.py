"""One run as a file has it: blocks of cells with arrays under the solver's own names, before anything is chosen from them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from sureflow.data.meshes import Patch, Topology
from sureflow.data.runs import Runs
from sureflow.errors import SureflowError

LAST = "last"


@dataclass(frozen=True)
class Wanted:
    """What of a file shall be read: a time, and the names of arrays and blocks; None are all of them."""

    time: float | str = LAST
    arrays: frozenset[str] | None = None
    blocks: tuple[str, ...] | None = None

    def array(self, name: str) -> bool:
        return self.arrays is None or name in self.arrays


EVERYTHING = Wanted()


@dataclass(frozen=True)
class Block:
    """Cells, or points alone, with their arrays: (value), or (value, component) of vectors and tensors."""

    name: str
    nodes: Float[np.ndarray, "node axis"]
    topology: Topology
    on_cells: Mapping[str, np.ndarray] = field(default_factory=dict)
    on_nodes: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def n_cells(self) -> int:
        return self.topology.n_values("cells", len(self.nodes)) or len(self.nodes)

    def arrays(self, location: str) -> Mapping[str, np.ndarray]:
        """The arrays on cells or on points; points without cells have theirs on themselves."""
        return self.on_cells if location == "cells" and self.topology.kind != "points" else self.on_nodes


@dataclass(frozen=True)
class Snapshot:
    """One run: its blocks, the first of them being the flow itself, and its patches, which are parts of the boundary.

    `units` are those that the file states, by the names of its arrays. `values` are numbers that it has of the whole run.
    """

    path: Path
    blocks: tuple[Block, ...]
    patches: tuple[Block, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    boundary: Mapping[str, Patch] = field(
        default_factory=dict
    )  # faces of the flow's own nodes, where the file knows them
    time: float | None = None
    times: tuple[float, ...] = ()

    def without_arrays(self) -> "Snapshot":
        """What the file says of itself, without the memory that its blocks take."""
        return replace(self, blocks=(), patches=(), boundary={})

    def named(self, names: tuple[str, ...] | None) -> tuple[Block, ...]:
        """The blocks of the flow, or blocks and patches by name."""
        if names is None:
            return self.blocks
        known = {block.name: block for block in (*self.blocks, *self.patches)}
        for name in names:
            if name not in known:
                raise SureflowError(f"{self.path} has no block {name!r}: its blocks are {', '.join(known)}")
        return tuple(known[name] for name in names)


@dataclass(frozen=True)
class SnapshotReader:
    """Reads one run from a file or folder. `companions` are endings of files that belong to it and are no runs themselves;
    `runs` opens files of the same ending that hold many runs.
    """

    read: Callable[[Path, Wanted], Snapshot]
    companions: tuple[str, ...] = ()
    runs: Callable[..., Runs] | None = None

    def __call__(self, path: Path, wanted: Wanted = EVERYTHING) -> Snapshot:
        """The run, which is never empty; whatever a damaged file raises becomes one sentence."""
        if not path.exists():
            raise SureflowError(f"{path} does not exist: give the path of a file of a run")
        try:
            found = self.read(path, wanted)
        except SureflowError:
            raise
        except MemoryError:
            raise SureflowError(f"{path} is too large for the memory of this machine, or damaged") from None
        except Exception as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
            raise SureflowError(f"{path} cannot be read ({reason[:200]}): it may be damaged or cut off") from error
        if wanted.time != LAST and found.time is None:
            raise SureflowError(f"{path} has a single state and no times: leave out time={wanted.time}")
        if not any(len(block.nodes) for block in found.blocks):
            raise SureflowError(f"{path} is empty: it has no mesh, or is not the kind of file that its ending suggests")
        return found
