import torch
class NB(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1
x = torch.tensor(1., requires_grad=True)
y = NB.apply(x)
print(y)
y.backward()
class NF(torch.autograd.Function):
    @staticmethod
    def backward(ctx, g):
        return g
NF.apply(x)
class TwoOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1, x * 2
    @staticmethod
    def backward(ctx, g1, g2):
        print(g1, g2)
        return g1 + g2
a, b = TwoOut.apply(x)
a.backward()
print(a.grad_fn, b.grad_fn)
