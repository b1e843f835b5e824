import torch
from torch.autograd.functional import jacobian
from torch.func import grad, jacfwd, jvp, vmap

v, w = torch.ones(3), torch.ones(3, requires_grad=True)


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class NoRule(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Both(NoRule):
    generate_vmap_rule = True

    @staticmethod
    def vmap(info, in_dims, x):
        return NoRule.apply(x), 0


class Rule(NoRule):
    generate_vmap_rule = True


for kind in (Old, NoRule, Both, Rule):
    for way in (
        lambda f: grad(lambda x: f(x).sum())(v), lambda f: vmap(f)(v), lambda f: vmap(lambda x: x + f(torch.ones(2)).sum())(v),
        lambda f: vmap(grad(f))(v), lambda f: jacfwd(f)(v), lambda f: jacobian(f, v, vectorize=True, strategy="forward-mode"),
    ):
        try:
            print(kind.__name__, way(kind.apply))
        except (RuntimeError, NotImplementedError) as error:
            print(kind.__name__, type(error).__name__, error)
out, tangent = jvp(lambda x: (w * x).sum(), (v,), (v,))
print(out.grad_fn.name(), tangent.grad_fn.name(), out.grad_fn.next_functions[0][0].name())
print(jacobian(lambda x: (w * x).sum(), v, vectorize=True, strategy="forward-mode").requires_grad)
