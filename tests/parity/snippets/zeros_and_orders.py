# Tensors that stand for zeros, gradients that a program passes and a hook writes into, the order of gradients in memory, what runs first.
import torch


def told(call):
    try:
        print(call())
    except RuntimeError as error:
        print(error)


x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
for recorded in (False, True):
    (zeros,) = torch.autograd.grad(x.sgn().sum(), x, create_graph=recorded)
    told(lambda: zeros.mul_(3.0))
    told(lambda: zeros[0].zero_())
    told(lambda: zeros.clone().add_(1))
x.sgn().sum().backward()
told(lambda: torch.nn.utils.clip_grad_norm_([x], 1.0))
told(lambda: torch.optim.SGD([x], lr=0.1).zero_grad(set_to_none=False))
x.grad = zeros = None
one = torch.ones(1, requires_grad=True)
print(torch.autograd.grad(one.expand(3).sum(), one)[0].mul_(2))

passed = torch.diag_embed(x)
x.register_hook(lambda g: g.mul_(2))
passed.register_hook(lambda g: g.mul_(2))
passed.backward(gradient=passed.detach())
print(passed._version, passed, x.grad)

wide = torch.arange(6.0).view(2, 3).requires_grad_()
for call in (lambda: wide**2, lambda: (1 - wide) ** 3.5, lambda: wide * wide, lambda: wide / 3, lambda: wide.tanh()):
    print(torch.autograd.grad(call().T.mean(), wide)[0].stride(), torch.autograd.grad((call().T * 2).sum(), wide)[0].stride())
turned = torch.randn(2, 4).broadcast_to(3, 2, 4).transpose(0, 2)
print(torch.addcmul(turned, turned, torch.ones(3, dtype=torch.float64)).stride())

late = torch.ones(2, 3, requires_grad=True)
floor = (late * 2) // 3.0
told(lambda: torch.autograd.backward([late.sum(), floor.sum()]))
print(late.grad)
told(lambda: torch.autograd.backward([floor.sum(), (late * 2).sum()]))
print(late.grad, floor.grad_fn.name())


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        return None


written = late.remainder(0.7)
written[0].mul_(3.0)
step = Nothing.apply(written - 1)
print(torch.autograd.grad(step.sum(), late, materialize_grads=True)[0])
step.masked_fill(step > 0, 3.0).sum().backward()
