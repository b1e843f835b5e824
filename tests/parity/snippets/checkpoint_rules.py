import torch
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop


def inner(x):
    with torch.enable_grad():
        (found,) = torch.autograd.grad(x.sin().exp(), x, create_graph=True)
    return found


for early in (True, False):
    with set_checkpoint_early_stop(early):
        x = torch.tensor(2.0, requires_grad=True)
        checkpoint(inner, x, use_reentrant=False).backward()
        print(x.grad)


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return x.clone(), y

    @staticmethod
    def backward(ctx, g, h):
        first, second = ctx.saved_tensors
        print(first is x, first.is_leaf, second.grad_fn is not None)
        if again:
            ctx.saved_tensors
        return g + h * second


for again in (False, True):
    x = torch.tensor(2.0, requires_grad=True)
    y = checkpoint(lambda x: sum(Exp.apply(x)), x, use_reentrant=False)
    try:
        y.backward()
    except RuntimeError as error:
        print(type(error).__name__, error)
    print(x.grad)

y = checkpoint(lambda x: x.exp() * x, x, use_reentrant=False)
print(y.grad_fn._saved_other, y.grad_fn._saved_other)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    z = x * torch.ones(())
print(z.grad_fn._saved_other.requires_grad)
