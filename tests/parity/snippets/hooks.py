import torch
import torch.nn as nn
grads = {}
def save_grad(name):
    def hook(grad):
        grads[name] = grad
    return hook
x = torch.tensor([1., 2.], requires_grad=True)
y = 3 * x
z = y * y
y.register_hook(save_grad('y'))
z.register_hook(save_grad('z'))
z.sum().backward()
print(grads['y'])
print(grads)
h = x.register_hook(lambda g: g * 10)
(x * 2).sum().backward()
print(x.grad)
h.remove()
(x * 2).sum().backward()
print(x.grad)
t = torch.ones(2)
t.register_hook(print)
