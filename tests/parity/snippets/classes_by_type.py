import torch
import torch.nn as nn
def forward(self, x):
    return self.lin(x) * self.scale
def init(self):
    nn.Module.__init__(self)
    self.lin = nn.Linear(2, 1)
Net = type("Net", (nn.Module,), {"__init__": init, "forward": forward, "scale": 2.0, "__doc__": "A net."})
torch.manual_seed(0)
net = Net()
print(net, Net, Net.__name__, Net.__doc__, net(torch.ones(1, 2)))
P = type("P", (), dict(x=1, f=lambda self, k: k + self.x, __len__=lambda self: 3))
print(P().f(2), len(P()), type(P()) is P, isinstance(P(), P), P.__module__, P.__qualname__)
Q = type("Q", (P,), {})
print(Q().x, issubclass(Q, P), Q.__mro__ if False else Q.__name__)
Sq = type("Sq", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * x), "backward": staticmethod(lambda ctx, g: g)})
x = torch.ones(2, requires_grad=True)
Sq.apply(x).sum().backward()
print(x.grad)
Err = type("Err", (Exception,), {})
raise Err("boom")
type("a", 1, {})
type(1, (), {})
type("a", (), [])
type("a", ())
type()
class Base:
    def __init_subclass__(cls, tag=None):
        cls.tag = tag
R = type("R", (Base,), {}, tag=5)
print(R.tag, type(Base), type(type))
