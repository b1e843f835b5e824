import torch
from torch.func import grad, vmap

torch.manual_seed(0)
v, m = torch.randn(4), torch.randn(3, 4)


class Exp(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (r,) = ctx.saved_tensors
        return g * r


def given(x):
    return x


calls = (
    lambda: grad(lambda x: Exp.apply(x))(v[0]), lambda: grad(grad(lambda x: Exp.apply(x)))(v[0]),
    lambda: vmap(grad(lambda x: Exp.apply(x)))(v),
    lambda: vmap(given, in_dims=2)(v), lambda: vmap(given, in_dims=-2)(v), lambda: vmap(torch.add)(v, m),
    lambda: vmap(torch.add, in_dims=(0,))(v, v), lambda: vmap(torch.add, in_dims=[0, 0])(v, v),
    lambda: vmap(torch.add, in_dims="a")(v, v), lambda: vmap(torch.add, in_dims=(None, None))(v, v), lambda: vmap(given)(),
    lambda: vmap(given)(1.0), lambda: vmap(lambda x: 3)(v), lambda: vmap(lambda x: (x, None))(v),
    lambda: vmap(given, out_dims=(0, 0))(v), lambda: vmap(lambda x: (x, x), out_dims=(0,))(v), lambda: vmap(given, in_dims=1.5)(m),
    lambda: vmap(given)(torch.ones(())), lambda: vmap(lambda d, e: d["a"] + e, in_dims=({"a": 0}, None))({"a": v}, v).shape,
    lambda: vmap(lambda d: d["a"], in_dims=({"b": 0},))({"a": v}), lambda: vmap(given, chunk_size=0)(v),
    lambda: vmap(torch.sin)(torch.ones(0)).shape, lambda: vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(torch.ones(0, 3))[0].shape,
    lambda: vmap(torch.add, in_dims=(0, "a"))(v, v), lambda: vmap(lambda x: [x, {"a": x}])(v)[1]["a"],
)
for call in calls:
    try:
        print(call())
    except (RuntimeError, ValueError) as error:
        print(type(error).__name__, error)
