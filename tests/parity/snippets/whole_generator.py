from typing import Iterable, Generator, Optional
import torch
from torch import nn

def batches(x: torch.Tensor, y: torch.Tensor, size: int, *, shuffle: bool = True, generator: Optional[torch.Generator] = None) -> Generator:
    n = len(x)
    order = torch.randperm(n, generator=generator) if shuffle else torch.arange(n)
    for lo in range(0, n, size):
        idx = order[lo:lo + size]
        yield x[idx], y[idx]

def train(model, data, lr=0.1):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    while True:
        total, count = 0.0, 0
        for xb, yb in data():
            loss = nn.functional.l1_loss(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
            count += len(xb)
        stop = yield total / count
        if stop:
            return "stopped early"

g = torch.Generator().manual_seed(0)
x = torch.randn(20, 3, generator=g)
y = x @ torch.tensor([[1.], [2.], [3.]])
torch.manual_seed(0)
model = nn.Linear(3, 1)
t = train(model, lambda: batches(x, y, 6, generator=g))
history = [next(t)]
try:
    for i in range(10):
        history.append(t.send(i == 3))
except StopIteration as e:
    print(e.value)
print([f"{h:.4f}" for h in history])
*rest, last = history
print(len(rest), f"{last:.4f}", (lambda *a, **k: (len(a), sorted(k)))(*rest, b=1, a=2))
if (n := len(history)) > 3:
    print(f"{n=}")
print(f"{'loss':>10}|{last:<10.3f}|{n:03d}|{1234567:,}|{0.256:.1%}")
