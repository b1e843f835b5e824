import torch
class A(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()
    @staticmethod
    def backward(ctx, g):
        return None
class B(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        print('B', g)
        return g * ctx.saved_tensors[0]
class C(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        print('C', g)
        return g
x = torch.ones(3, requires_grad=True)
y = x.pow(2)
y.register_hook(lambda g: print('hook', g))
y.grad_fn.register_hook(lambda gi, go: print('node', gi, go))
y.grad_fn.register_prehook(lambda go: print('pre', go))
z = A.apply(y)
z.sum().backward()
print(x.grad)
z.sum().backward()
y = B.apply(x)
z = A.apply(y)
z.sum().backward()
print(x.grad)
y = C.apply(x)
z = A.apply(y)
z.sum().backward()
print(x.grad)
y = x.exp() * x
w = A.apply(y)
w.sum().backward()
(y * 2).sum().backward()
y = x.max(0)[0] + x.prod()
w = A.apply(y)
w.sum().backward()
y.backward()
h = x.exp()
h.retain_grad()
A.apply(h).sum().backward()
print(h.grad)
x.register_hook(lambda g: print('leaf', g))
A.apply(x).sum().backward()
torch.autograd.grad(A.apply(x * 2).sum(), x, allow_unused=True)
torch.autograd.grad(A.apply(x * 2).sum(), x)
torch.autograd.grad(A.apply(x * 2).sum(), x, materialize_grads=True)
v = A.apply(x * 2).sum() + x.sum()
v.backward()
print(x.grad)
