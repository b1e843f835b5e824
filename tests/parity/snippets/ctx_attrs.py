import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        ctx.mark_non_differentiable()
        return x.view_as(x)
    @staticmethod
    def backward(ctx, grad_output):
        print("backward with", ctx.alpha, grad_output, ctx.needs_input_grad)
        return grad_output.neg() * ctx.alpha, None
class GradReverse(torch.nn.Module):
    def __init__(self, alpha=1.):
        super().__init__()
        self.alpha = alpha
    def forward(self, x):
        return Scale.apply(x, self.alpha)
x = torch.ones(2, requires_grad=True)
y = GradReverse(0.5)(x)
print(y)
y.sum().backward()
print(x.grad)
Scale.apply(x, alpha=2)
Scale.apply(x)
