"""How long it takes to propose 10 of 100,000 candidates in five parameters, from 200 runs.

    python benchmarks/propose_speed.py family.zarr       # the preset `family`

Processor seconds of one thread, by criterion and model, after the model was trained; asked for: under 5 s.
"""

import sys
import time

import numpy as np

import sureflow as sf
from sureflow.acquire.criteria import CRITERIA
from sureflow.acquire.proposals import make_proposal, read_criterion
from sureflow.acquire.region import region_of
from sureflow.runtime import keep_compiled_programs

RUNS, CANDIDATES, COUNT = 200, 100_000, 10
MODELS = {
    "interpolation": {"name": "interpolation", "scales": "learned"},
    "pod-gp": "pod-gp",
    "aligned": "aligned",
    "body-aligned": "body-aligned",  # the default with these runs
}
SCALING = {"aligned": "similarity", "body-aligned": "similarity"}


def main() -> None:
    keep_compiled_programs()
    runs = sf.open_runs(sys.argv[1]).select(np.arange(RUNS))
    print("| model | criterion | CPU s | wall s |\n|---|---|---:|---:|")
    for name, settings in MODELS.items():
        model = sf.fit(runs, settings, scaling=SCALING.get(name, "auto"), calibrate=False)
        region = region_of(model.header, model.domain.parameters.copy())
        candidates = region.draw(CANDIDATES)
        assert len(candidates) == CANDIDATES
        for criterion in CRITERIA:
            began = time.process_time(), time.perf_counter()
            make_proposal(model, COUNT, criterion=read_criterion(criterion), region=region, candidates=candidates)
            cpu, wall = time.process_time() - began[0], time.perf_counter() - began[1]
            print(f"| {name} | {criterion} | {cpu:.2f} | {wall:.2f} |", flush=True)


if __name__ == "__main__":
    main()
