import torch
class MyReLU(torch.autograd.Function):
    """
    Custom relu
    """
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input
relu = MyReLU.apply
x = torch.tensor([-1., 0., 2.], requires_grad=True)
y = relu(x)
print(y, y.grad_fn)
y.sum().backward()
print(x.grad)
y.sum().backward()
