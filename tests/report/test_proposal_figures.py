"""Pictures of proposals: nothing is cut, and coarse runs look different."""

import numpy as np
import pytest

from sureflow.report.proposal_figures import draw_proposals


@pytest.mark.parametrize("parameters", [1, 2, 3])
def test_no_marker_lies_on_the_edge(parameters):
    rng = np.random.default_rng(0)
    candidates, runs = rng.random((64, parameters)), rng.integers(0, 2, (8, parameters)).astype(float)
    failed, proposed = np.full((1, parameters), 1.2), rng.random((3, parameters))
    labels = [f"p{number}" for number in range(parameters)]
    figure = draw_proposals(
        runs, proposed, candidates, rng.random(64), labels=labels, meaning="m", failed=failed, coarse=np.arange(3) > 1
    )
    panels = [axis for axis in figure.axes if axis.get_xlabel().startswith("p")]
    assert len(panels) == max(1, parameters * (parameters - 1) // 2)
    for axis in panels:
        (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
        for line in axis.lines:
            x, y = np.asarray(line.get_xydata()).T
            assert ((x > left + 0.03) & (x < right - 0.03)).all()
            assert ((y > low + 0.03) & (y < high - 0.03)).all()
    assert [line.get_label() for line in panels[0].lines] == [
        "runs",
        "did not converge",
        "proposed",
        "proposed, coarser mesh",
    ]
