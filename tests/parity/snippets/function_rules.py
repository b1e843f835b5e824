import torch
from torch.autograd.function import once_differentiable


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x, factor=3):
        return x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor = inputs

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


x = torch.tensor(2.0, requires_grad=True)
Scale.apply(x).backward()
print(x.grad)
try:
    Scale.apply()
except TypeError as error:
    print(error)


class Three(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, c):
        outputs = a.clone(), b.clone(), c.clone()
        ctx.mark_non_differentiable(*outputs[:2])
        ctx._materialize_non_diff_grads = False
        return outputs

    @staticmethod
    def backward(ctx, *grads):
        print(grads)
        return grads


a = torch.tensor(1.0, requires_grad=True)
torch.autograd.grad(Three.apply(a, a * 2, a * 3)[2], a)


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, z):
        ctx.save_for_backward(x)
        return x * y * z

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return grad * 2, None, grad * 3


g, h = torch.autograd.grad(Once.apply(a, a, a), [a, x], torch.tensor(1.0, requires_grad=True), create_graph=True, allow_unused=True)
print(g.grad_fn.name(), h)
w = torch.tensor(1.0, requires_grad=True)
found = Once.apply(a, 2.0, x).backward(w, create_graph=True)
print(a.grad.grad_fn.name(), [node and node.name() for node, _ in a.grad.grad_fn.next_functions])
error = a.grad.grad_fn.next_functions[0][0]
print([node and node.name() for node, _ in error.next_functions])
try:
    a.grad.backward()
except RuntimeError as error:
    print(error)

for answer in (3, torch.ones(()), None):
    p = torch.tensor(1.0, requires_grad=True)
    p.register_post_accumulate_grad_hook(lambda _, answer=answer: answer)
    try:
        (p * 2).backward()
    except (RuntimeError, TypeError) as error:
        print(type(error).__name__, error)
    print(p.grad)
