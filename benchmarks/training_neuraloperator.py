"""An FNO of PyTorch's neuraloperator, for benchmarks/training.py: prints runs per second of training as JSON.

Runs in an environment of its own (pip install torch==2.13.0 neuraloperator==2.0.0); nothing of sureflow is imported.

    python benchmarks/training_neuraloperator.py MODES WIDTH LAYERS BATCH STEPS NETWORKS
"""

import json
import sys
import time

import torch
from neuralop.models import FNO

CELLS, RUNS, FIELDS = 64, 40, 4


def train(modes: int, width: int, layers: int, batch: int, steps: int) -> None:
    # As many frequencies as ours keeps: -modes < k < modes of one index, 0 <= k < modes of the other.
    network = FNO(
        n_modes=(2 * modes - 1, 2 * modes - 2),
        in_channels=4,
        out_channels=FIELDS,
        hidden_channels=width,
        n_layers=layers,
        lifting_channel_ratio=1,
        projection_channel_ratio=2,
        domain_padding=8 / CELLS,
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    inputs, fields = torch.randn(RUNS, 4, CELLS, CELLS), torch.randn(RUNS, FIELDS, CELLS, CELLS)
    for _ in range(steps):
        run = torch.randint(RUNS, (batch,))
        optimizer.zero_grad(set_to_none=True)
        torch.square(network(inputs[run]) - fields[run]).mean().backward()
        optimizer.step()
        schedule.step()


def main() -> None:
    modes, width, layers, batch, steps, networks = map(int, sys.argv[1:])
    torch.manual_seed(0)
    train(modes, width, layers, batch, 2)
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(networks):
        train(modes, width, layers, batch, steps)
    count = batch * steps * networks
    print(json.dumps({"wall": count / (time.perf_counter() - began), "processor": count / (time.process_time() - cpu)}))


if __name__ == "__main__":
    main()
