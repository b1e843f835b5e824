import torch
from torch import nn
from torch.jit import Final


@torch.jit.ignore
def f(x):
    return x + 1


@torch.jit.unused
def g(x):
    return x + 2


@torch.jit.script
def swish(x, b: float = 1.0):
    return x * torch.sigmoid(b * x)


class Net(nn.Module):
    n: Final[int]

    def __init__(self):
        super().__init__()
        self.n = 3

    @torch.jit.ignore
    def no_weight_decay(self):
        return {"a"}

    @torch.jit.export
    def twice(self, x):
        return 2 * x

    def forward(self, x):
        return x if torch.jit.is_scripting() or torch.jit.is_tracing() else x + self.n


x = torch.ones(2, requires_grad=True)
print(f(1), g(1), swish(x), Net()(x), Net().no_weight_decay(), Net().twice(x), torch.jit.annotate(int, 3))
swish(x).sum().backward()
print(x.grad)
