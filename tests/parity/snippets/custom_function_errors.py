import torch
from torch.autograd import Function
class Bad(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b
    @staticmethod
    def backward(ctx, g):
        return g
a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
out = Bad.apply(a, b)
out.sum().backward()
class NotStatic(Function):
    def forward(self, x):
        return x * 2
    def backward(self, g):
        return g * 2
f = NotStatic()
f(a)
class WrongShape(Function):
    @staticmethod
    def forward(ctx, a):
        return a.sum()
    @staticmethod
    def backward(ctx, g):
        return torch.ones(3)
WrongShape.apply(a).backward()
class NoTensor(Function):
    @staticmethod
    def forward(ctx, a):
        return a * 1
    @staticmethod
    def backward(ctx, g):
        return 1.0
NoTensor.apply(a).sum().backward()
