import torch
from torch.func import grad, hessian, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import CheckpointFunction, checkpoint
x = torch.tensor([1.0, 2.0])
def f(x):
    return checkpoint(torch.sin, x, use_reentrant=False).sum()
grad(f)(x)
jacrev(f)(x)
vjp(f, x)
hessian(f)(x)
vmap(grad(f))(torch.ones(2, 2))
print(jvp(f, (x,), (x,)), vmap(f)(torch.ones(2, 2)))
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    print(f(x.clone().requires_grad_()).item())
    grad(lambda t: t.sin().sum())(x)
def g(x):
    with torch.autograd.graph.save_on_cpu():
        return x.sin().sum()
grad(g)(x)
print(grad(lambda t: t.sin().sum())(x), g(x))
leaf = x.clone().requires_grad_()
y = checkpoint(torch.sin, leaf, use_reentrant=True)
print(y.grad_fn.__class__ is CheckpointFunction._backward_cls, y.grad_fn.name(), CheckpointFunction.__name__)
with torch.no_grad():
    z = leaf.t()
    z.add_(0)
print(z)
z.grad_fn
