import torch
from torch.autograd import functional

x = torch.ones(2)


def cube(x):
    return (x**3).sum()


for name in ("vjp", "jvp", "vhp", "hvp"):
    function = getattr(functional, name)
    v = torch.ones(()) if name == "vjp" else x
    for func, inputs, given in (
        (cube, x, (x, x)), (cube, (x,), (x, x)), (cube, x, torch.ones(3)), (cube, (x,), torch.ones(3)), (cube, x, 3.0), (cube, [x], v),
        (lambda x: 3, x, v), (lambda x: (x.sum(), 3), x, v), (lambda x: [x.sum()], x, v), (cube, x, v), (cube, x, None),
    ):
        try:
            print(function(func, inputs, given))
        except (RuntimeError, TypeError) as error:
            print(error)
for func in (cube, lambda x: torch.ones(()), lambda x: x.sum(), lambda x: x.detach().sum(), lambda x: [x.sum()]):
    for name in ("jacobian", "hessian"):
        try:
            print(getattr(functional, name)(func, x, strict=True))
        except (RuntimeError, TypeError) as error:
            print(error)
