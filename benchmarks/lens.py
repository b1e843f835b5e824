"""The cost of watching a training step on PyTorch, side by side with the plain step.

    python -m benchmarks.lens [ROUNDS]

Plain and watched steps alternate in one process, and the fastest of their rounds are compared: other work on the machine only
adds to a round. Needs PyTorch.
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import nn

from gradsh import lens

Step = Callable[[], None]


def stepping(net: nn.Module, batch: torch.Tensor) -> Step:
    """Return a training step of a net on a batch."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)

    def step() -> None:
        optimizer.zero_grad()
        loss = net(batch).pow(2).mean()
        loss.backward()
        optimizer.step()

    return step


class Block(nn.Module):
    """A residual block of a small ResNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        h = self.norms[0](self.first(x)).relu()
        return (self.norms[1](self.second(h)) + x).relu()


def nets() -> dict[str, tuple[Step, int]]:
    """Return the steps to measure, and how many make a round."""
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    resnet = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *(Block(32) for _ in range(4)), nn.Flatten(), nn.Linear(32 * 256, 10))
    mlp = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    return {
        "transformer, 4 layers, 16 x 64 x 128": (stepping(nn.TransformerEncoder(layer, 4), torch.randn(16, 64, 128)), 2),
        "ResNet-like, 4 blocks, 16 x 3 x 16 x 16": (stepping(resnet, torch.randn(16, 3, 16, 16)), 2),
        "MLP, 2 layers, 32 x 64": (stepping(mlp, torch.randn(32, 64)), 60),
    }


def clocked(step: Step, number: int) -> float:
    """Return the processor seconds of some steps."""
    begun = time.process_time()
    for _ in range(number):
        step()
    return (time.process_time() - begun) / number


def look_at(nodes: int) -> float:
    """Return the seconds of `lens.buffers` over a graph of so many nodes."""
    x = torch.ones(8, requires_grad=True)
    lens.start()
    h = x
    for _ in range(nodes // 2):
        h = (h * x).tanh()
    loss = h.sum()
    times = []
    for _ in range(3):
        begun = time.process_time()
        lens.buffers(loss)
        times.append(time.process_time() - begun)
    lens.stop()
    return min(times)


def main(rounds: int = 10) -> None:
    """Print a row for each net: milliseconds of a plain step and of one under `gradsh trace`, and their ratio."""
    torch.set_num_threads(1)
    for name, (step, number) in nets().items():
        plain, watched = [], []
        clocked(step, number)
        for _ in range(rounds):
            plain.append(clocked(step, number))
            with lens.watching(modules=False):
                clocked(step, 1)
                watched.append(clocked(step, number))
            lens.stop()
        before, after = min(plain), min(watched)
        print(f"{name}: {before * 1e3:.2f} ms, watched {after * 1e3:.2f} ms, {after / before:.2f} times", flush=True)
    print(f"lens.buffers of 10,000 nodes: {look_at(10_000):.3f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
