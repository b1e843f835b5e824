import warnings
import torch
from torch import nn
torch.manual_seed(0)
def told(name):
    def hook(module, grad_input, grad_output):
        print(name, type(module).__name__, [None if g is None else tuple(g.shape) for g in grad_input], [tuple(g.shape) for g in grad_output])
    return hook
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 4))
for name, part in net.named_modules():
    handle = part.register_backward_hook(told(name))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    net(torch.randn(3, 1, 6, 6)).sum().backward()
for one in seen:
    print(one.category.__name__, one.message)
handle.remove()
net[4].register_full_backward_hook(told("full"))
relu = nn.ReLU()
relu.register_full_backward_hook(told("full"))
relu.register_backward_hook(told("older"))
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
    def forward(self, x, scale=1.0):
        return {"a": self.a(x) * scale, "b": self.b(x)} if scale > 1 else (self.a(x), self.b(x))
two = Two()
two.register_backward_hook(lambda module, gi, go: tuple(None if g is None else g * 2 for g in gi))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    two(torch.ones(1, 2))[0].sum().backward()
    two(torch.ones(1, 2), 2.0)["a"].sum().backward()
    lin = nn.Linear(2, 1)
    lin.register_backward_hook(told("lin"))
    x = torch.ones(1, 2, requires_grad=True)
    lin(x * 1).sum().backward()
    lin(x).sum().backward()
    with torch.no_grad():
        lin(x)
for one in seen:
    print(one.category.__name__, one.message)
print(two.a.weight.grad, two.a.bias.grad, x.grad)
