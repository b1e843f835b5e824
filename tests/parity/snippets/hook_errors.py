import torch
x = torch.ones(3, requires_grad=True)
y = x * 2
def bad(g):
    return g.sum()
y.register_hook(bad)
y.sum().backward()
def bad2(g):
    return 3
z = x * 3
z.register_hook(bad2)
z.sum().backward()
def raises(g):
    raise ValueError("inside hook")
w = x * 4
w.register_hook(raises)
w.sum().backward()
y = x * 2
y.register_hook(lambda g: g.mul_(0))
y.sum().backward()
print(x.grad)
