"""The explorer in notebooks."""

import html
from dataclasses import dataclass
from pathlib import Path

from sureflow.explore.explorer import Progress, explorer, unfollowed, write_explorer
from sureflow.explore.surfaces import Cut
from sureflow.surrogate.model import Surrogate

HEIGHT = 900  # pixels


@dataclass(frozen=True)
class InlineExplorer:
    """A page that a notebook shows."""

    page: str
    height: int = HEIGHT

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that neither style reaches the other."""
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" title="Explorer" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"an explorer of {len(self.page) / 1e6:.1f} MB; notebooks show it"


def explore(
    surrogate: Surrogate,
    path: str | Path | None = None,
    *,
    title: str = "",
    cut: dict[str, float] | None = None,
    overwrite: bool = False,
    progress: Progress = unfollowed,
) -> InlineExplorer | Path:
    """A page with sliders for every parameter, fields with their error bars, and verdicts.

    Without a `path` it is for a notebook to show; else it is written to that file. `cut` is a plane through a volume, as in
    {"z": 0.0}, to show instead of its surface. `progress` is told the share of the work that is done, and what comes next.

    >>> import numpy as np, sureflow as sf
    >>> y, x = np.mgrid[0:1:9j, 0:1:9j]
    >>> points, angle = np.column_stack([x.ravel(), y.ravel()]), np.linspace(0, 4, 15)
    >>> runs = sf.Runs.from_arrays({"angle": angle}, points, {"p": [np.sin(a + points[:, 0]) for a in angle]})
    >>> sf.fit(runs, "interpolation").explore("explorer.html")
    PosixPath('explorer.html')
    """
    plane = None if cut is None else Cut(*next(iter(cut.items())))
    if path is None:
        return InlineExplorer(explorer(surrogate, title, cut=plane, progress=progress))
    write_explorer(surrogate, Path(path), title=title, cut=plane, overwrite=overwrite, progress=progress)
    return Path(path)
