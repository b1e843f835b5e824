import torch
from torch.autograd import Function, gradcheck


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        if case == "undefined" and grad is None:
            return torch.ones(2, dtype=torch.double)
        if case == "refused" and grad is None:
            raise RuntimeError("no gradient")
        if case == "wrong":
            return grad * 3
        if case == "shifted":
            return grad * 2 + 1e-7
        if case == "random":
            return grad * 2 + torch.rand(2, dtype=torch.double) * 1e-7
        return None if grad is None else grad * 2


x = torch.ones(2, dtype=torch.double, requires_grad=True)
for case in ("right", "undefined", "refused", "wrong", "shifted"):
    try:
        print(case, gradcheck(Twice.apply, x), gradcheck(Twice.apply, x, raise_exception=False))
    except RuntimeError as error:
        print(case, error)
case = "random"
print(gradcheck(Twice.apply, x, raise_exception=False), gradcheck(Twice.apply, x, nondet_tol=1e-5, check_undefined_grad=False, raise_exception=False))
modes = set()


def seen(x):
    modes.add(torch.is_grad_enabled())
    return x * 2, x.detach() * 3


try:
    print(gradcheck(seen, x))
except RuntimeError as error:
    print(error)
print(modes)
for shape in (lambda x: x[: 1 + int(x[0] > 1)], lambda x: x if x[1] > 1 else x.float()):
    try:
        gradcheck(shape, x)
    except AssertionError as error:
        print(error)
for options in ({"foo": 1}, {"check_backward_ad": False}):
    try:
        gradcheck(Twice.apply, x, **options)
    except (TypeError, AssertionError) as error:
        print(error)
