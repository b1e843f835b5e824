import torch
import torch.nn as nn
import torch.nn.functional as F

def versions(f, *leaves):
    for leaf in leaves:
        leaf.grad = None
    grads = torch.autograd.grad(f(*leaves).pow(2).sum(), leaves, create_graph=True, allow_unused=True)
    first = [None if one is None else one._version for one in grads]
    sum((one ** 2).sum() for one in grads if one is not None and one.requires_grad).backward()
    return first, [None if leaf.grad is None else leaf.grad._version for leaf in leaves]

x = torch.tensor([.3, -.5, .7], requires_grad=True)
y = torch.tensor([.1, .2, -.9], requires_grad=True)
wide = y.detach().double().requires_grad_()
print(versions(torch.copysign, x, y), versions(torch.copysign, wide, x), versions(torch.xlogy, x, wide.detach().abs().requires_grad_()))
print(versions(F.softsign, x), versions(lambda t: (t.abs() + 1).log(), x), versions(lambda a, b: (a.abs() + 1) ** b, x, y))
half, ones = torch.full((3,), .5), torch.ones(3)
for reduction in ("none", "sum", "mean"):
    print(versions(lambda t: F.mse_loss(t, ones, reduction=reduction), x), versions(lambda t: F.huber_loss(t, ones, reduction=reduction), x))
    for more in ({}, {"weight": ones}, {"pos_weight": ones}):
        print(versions(lambda t: F.binary_cross_entropy_with_logits(t, half, reduction=reduction, **more), x))
x.register_post_accumulate_grad_hook(lambda leaf: print("accumulated", leaf.grad))
doubled = x * 2
x.grad = None
x.requires_grad_(False)
doubled.sum().backward()
out = nn.Linear(3, 2)
result = out(torch.ones(1, 3))
out.double()
result.sum().backward()
print(out.weight.grad.dtype, out.weight.grad._version)
import copy
last = torch.arange(24.).view(2, 3, 2, 2).contiguous(memory_format=torch.channels_last).requires_grad_()
(last * torch.arange(24.).view(2, 3, 2, 2)).sum().backward()
print(torch.equal(copy.deepcopy(last).grad, last.grad))
print(torch.func.jacrev(torch.clone)(ones)._version, torch.func.jacfwd(torch.sin)(ones).stride())
rows = torch.arange(9.).view(3, 3)
print(rows.copy_(rows.select(-1, 0).expand_as(rows)))
