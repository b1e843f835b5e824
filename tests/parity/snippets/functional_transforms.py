import torch
from torch import nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacrev, stack_module_state, vjp, vmap

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
params = {name: one.detach() for name, one in net.named_parameters()}


def loss_of(params, x, y):
    return (functional_call(net, params, (x.unsqueeze(0),)).squeeze() - y) ** 2


x, y = torch.randn(3, 2), torch.randn(3)
each = vmap(grad(loss_of), in_dims=(None, 0, 0))(params, x, y)
print({name: one for name, one in each.items()})
found, value = grad_and_value(loss_of)(params, x[0], y[0])
print(value, value.requires_grad, found["0.bias"])
print(hessian(lambda p: (p**3).sum())(torch.tensor([1.0, 2.0])))
print(grad(grad(torch.sin))(torch.tensor(0.5)), jacrev(lambda a: {"a": a * 2, "b": a.sum()})(torch.ones(2)))
print(vmap(torch.dot)(x, x), vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x))
out, pull = vjp(torch.mul, x[0], x[1])
print(out, pull(torch.ones(2)))
both, buffers = stack_module_state([nn.Linear(2, 1), nn.Linear(2, 1)])
print(both["weight"].shape, both["weight"].requires_grad, buffers)
slope = vmap(grad(lambda a: net(a).squeeze()))(x)
slope.pow(2).sum().backward()
print(slope.requires_grad, net[0].weight.grad)
torch.testing.assert_close(slope, slope + 1e-8)
del slope  # its node is that of a loop here
for pair in ((torch.ones(2), torch.zeros(2)), (1.0, 1.1), (torch.ones(2), torch.ones(3)), (torch.tensor([1]), torch.tensor([2]))):
    try:
        torch.testing.assert_close(*pair)
    except AssertionError as error:
        print(error)
grad(lambda a: a * 2)(torch.ones(2))

for given, options in (
    ({"q": torch.ones(1), "weight": torch.ones(1, 1)}, {}), ({"weight": torch.ones(1, 1), "q": torch.ones(1)}, {"strict": True}),
    ([{"weight": torch.ones(1, 1)}, {"weight": torch.ones(1, 1)}], {}), ({"weight": 3}, {}), ({"forward": torch.ones(1)}, {}),
):
    plain = nn.Linear(1, 1, bias=False)
    try:
        print(functional_call(plain, given, torch.ones(1), **options), hasattr(plain, "q"))
    except (RuntimeError, TypeError, ValueError) as error:
        print(type(error).__name__, str(error).split(": <bound")[0])
tied = nn.Sequential(plain, plain)
print(functional_call(tied, {"0.weight": torch.full((1, 1), 3.0)}, torch.ones(1)), plain.bias)
try:
    functional_call(tied, {"0.weight": torch.ones(1, 1), "1.weight": torch.zeros(1, 1)}, torch.ones(1))
except ValueError as error:
    print(error)


class Count(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        self.n = self.n + 1
        return x * self.n


count, state = Count(), {"n": torch.full((), 5.0)}
print(functional_call(count, state, torch.ones(1)), state, count.n)
affine = nn.Linear(1, 1)
print(functional_call(affine, {"weight": torch.ones(1, 1), "bias": None}, torch.ones(1)), affine.bias is None)
vmap(lambda a: a, randomness='other')(torch.ones(2))
