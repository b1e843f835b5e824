import torch
from torch.utils.checkpoint import checkpoint


def part(x, y=None):
    h = x.relu()
    return h * h.sum()


x = torch.randn(3, requires_grad=True)
h = x * 2
out = checkpoint(part, h, use_reentrant=False)
h.mul_(2)
out.sum().backward()
h = x * 2
out = checkpoint(part, h, use_reentrant=False)
h[...] = 0.1
out.sum().backward()
leaf = torch.randn(3, requires_grad=True)
out = checkpoint(part, leaf, use_reentrant=False)
with torch.no_grad():
    leaf.add_(1)
out.sum().backward()
c = torch.ones(3)
out = checkpoint(lambda a, b: (a * b).exp(), x, c, use_reentrant=False)
c.add_(1)
out.sum().backward()
out = checkpoint(part, x, use_reentrant=False)
out.sum().backward()
print(x.grad is not None)
