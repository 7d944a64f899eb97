"""The same training in PyTorch, for benchmarks/training.py: prints member-samples per second as JSON.

Runs in an environment of its own (pip install torch==2.13.0 numpy); nothing of sureflow is imported.

    python benchmarks/training_torch.py BATCH STEPS NETWORKS
"""

import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

RUNS, POINTS = 205, 4096


class DeepONet(nn.Module):
    """Eq. 1 with the paper's sizes."""

    def __init__(self):
        super().__init__()
        self.space, self.parameter = (nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32)) for _ in range(2))
        self.decoder = nn.Sequential(
            nn.Linear(32, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1)
        )  # fmt: skip

    def forward(self, x, psi):
        return self.decoder(self.space(x) * self.parameter(psi))[:, 0]


def train(batches, network, steps):
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for x, psi, truth in batches:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.square(network(x, psi) - truth).mean()
        loss.backward()
        optimizer.step()
        schedule.step()


def careful(batch, steps, networks):
    """Tensors in memory, indices drawn at once, fused AdamW, one network after the other."""
    x, psi, fields = torch.randn(POINTS, 2), torch.randn(RUNS, 2), torch.randn(RUNS, POINTS)

    def batches():
        for _ in range(steps):
            run, point = torch.randint(RUNS, (batch,)), torch.randint(POINTS, (batch,))
            yield x[point], psi[run], fields[run, point]

    for _ in range(networks):
        train(batches(), DeepONet(), steps)


def customary(batch, steps, networks):
    """TensorDataset and DataLoader, as in most published scripts."""
    size = batch * steps
    data = TensorDataset(torch.randn(size, 2), torch.randn(size, 2), torch.randn(size))
    for _ in range(networks):
        train(DataLoader(data, batch_size=batch, shuffle=True), DeepONet(), steps)


def rate(loop, batch, steps, networks):
    loop(batch, max(steps // 10, 1), 1)
    began = time.perf_counter()
    loop(batch, steps, networks)
    return batch * steps * networks / (time.perf_counter() - began)


if __name__ == "__main__":
    arguments = [int(value) for value in sys.argv[1:4]]
    print(json.dumps({loop.__name__: rate(loop, *arguments) for loop in (careful, customary)}))
