# What a node saved is found with dir, as PyTorch's notes on autograd do it; names with an underscore are listed.
import torch
import torch.nn as nn


def saved(fn, depth=0):
    if fn is None:
        return
    names = [name for name in dir(fn) if name.startswith(("_saved_", "_raw_saved_"))]
    print("  " * depth + fn.name(), names)
    print("  " * depth, {name: getattr(fn, name) for name in names if not name.startswith("_raw") and not torch.is_tensor(getattr(fn, name))})
    for below, _ in fn.next_functions:
        saved(below, depth + 1)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


x = torch.ones(2, 3, requires_grad=True)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
saved(net(x).pow(2).mean().grad_fn)
saved((torch.softmax(x, 1)[:, 0] * 2.0 + x.max(1).values).sum().grad_fn)
saved(Double.apply(x).exp().grad_fn)


print([name for name in dir(x.exp().grad_fn) if not name.startswith("_")])
print([name for name in dir(x.exp().grad_fn.next_functions[0][0]) if not name.startswith("_")])


class Box:
    kind = 1

    def __init__(self):
        self._hidden = 2
        self.shown = 3

    def _own(self):
        pass


print([name for name in dir(Box()) if not name.startswith("__")])
print([name for name in dir(Box) if not name.startswith("__")])
