import torch

x = torch.arange(1.0, 7).reshape(2, 3).requires_grad_()


def told(function):
    try:
        print(function())
    except RuntimeError as error:
        print(type(error).__name__, error)


def turned(then):
    y = x * 2
    with torch.no_grad():
        y.t_()
    return then(y)


def longer(y):
    with torch.no_grad():
        y.unsqueeze_(0)
    return y


told(lambda: turned(lambda y: torch.autograd.grad(y, x, torch.ones_like(y))))
told(lambda: turned(lambda y: (y * 3).sum().backward()))
told(lambda: turned(lambda y: y.sum().backward()))
y = longer(x.sum(0))
told(lambda: torch.autograd.grad(y, x, torch.ones_like(y)))
z = longer((x * x).sum(0))
told(lambda: torch.autograd.grad(z, x, torch.ones_like(z), create_graph=True))
told(lambda: longer(x.sum()).backward())

for function in (torch.isclose, torch.allclose, torch.eq, torch.isnan, torch.isfinite, torch.isinf, torch.sign, torch.argmax):
    v = x.sinh()
    for row in v:
        pass
    v.sin_()
    told(lambda: function(row, torch.ones(3)) if function.__name__ in ("isclose", "allclose", "eq") else function(row))
