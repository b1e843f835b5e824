import torch
from torch.autograd.function import InplaceFunction

x = torch.ones(2, requires_grad=True)
y = x.exp()
node = y.grad_fn
print(node(torch.ones(2)), (x * x).grad_fn(torch.ones(2)), node(None))
for grads in ((), (torch.ones(2), torch.ones(2))):
    try:
        node(*grads)
    except TypeError as error:
        print(error)
print(node.next_functions[0][0](torch.ones(2)), x.grad)
y.sum().backward()
try:
    node(torch.ones(2))
except RuntimeError as error:
    print(error)
for name in ("data", "requires_grad"):
    try:
        delattr(x, name)
    except RuntimeError as error:
        print(error)

src = torch.tensor([0.0, 0.0], dtype=torch.float64, requires_grad=True)
one = torch.ones(1, dtype=torch.float64, requires_grad=True)
for reduced in (
    torch.scatter_reduce(one, 0, torch.tensor([0, 0]), src, "prod"),
    torch.index_reduce(one, 0, torch.tensor([0, 0]), src, "prod"),
):
    (g,) = torch.autograd.grad(reduced, src, create_graph=True)
    print(g.grad_fn.name(), g.grad_fn.next_functions[0][0].name())
    try:
        g.sum().backward()
    except RuntimeError as error:
        print(error)

order = []


class Queue(InplaceFunction):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, grad):
        engine = torch.autograd.Variable._execution_engine
        engine.queue_callback(lambda: (order.append("first"), engine.queue_callback(lambda: order.append("second"))))
        order.append("backward")
        return grad * 2


Queue.apply(x.clone()).sum().backward()
print(order, x.grad)
try:
    torch.autograd.Variable._execution_engine.queue_callback(print)
except RuntimeError as error:
    print(error)
z = x.clone()
torch.autograd.graph.increment_version([z, z])
print(z._version)


class Aliased(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


view = Aliased.apply(torch.ones(2))
try:
    view += x
except RuntimeError as error:
    print(error)


def pack(t):
    return t


def unpack(t):
    torch.autograd.graph.saved_tensors_hooks(lambda t: 1 / 0, pack).__enter__()
    return t


with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = x.exp()
y.sum().backward()
print((x * x).sum())
