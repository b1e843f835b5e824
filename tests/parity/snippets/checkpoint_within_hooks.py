# Hooks on saved tensors pack the inputs of a checkpoint, and those of one within another.
import torch
from torch.utils.checkpoint import checkpoint
log=[]
def pack(x): log.append(("pack", tuple(x.shape))); return x
def unpack(x): log.append(("unpack", tuple(x.shape))); return x
torch.manual_seed(0)
lin=torch.nn.Linear(3,3)
def f(x): return torch.sin(lin(x)).exp()
for reent in (False,True):
    x=torch.ones(2,3,requires_grad=True)
    log.clear()
    with torch.autograd.graph.saved_tensors_hooks(pack,unpack):
        y=checkpoint(f,x*2,use_reentrant=reent)
        z=(y*y).sum()
    print(len(log), log)
    z.backward()
    print(len(log), log)
    print(x.grad)
    log.clear()
    def g(x):
        with torch.autograd.graph.saved_tensors_hooks(pack,unpack):
            a=x.sin()
        return a.exp()
    y=checkpoint(g,x*2,use_reentrant=reent)
    print(log)
    y.sum().backward()
    print(log)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy() if not t.requires_grad else t.detach().numpy().copy(), lambda a: torch.from_numpy(a)):
    y=checkpoint(f,x*2,use_reentrant=False)
y.sum().backward()
print(x.grad)
log.clear()
def inner(x): return (x*x).sin()
def outer(x): return checkpoint(inner, lin(x).tanh(), use_reentrant=False).exp()
x=torch.ones(2,3,requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack,unpack):
    y=checkpoint(outer,x*2,use_reentrant=False)
y.sum().backward()
print(log, x.grad)
y=checkpoint(outer,x*2,use_reentrant=False)
a=x*2; y=checkpoint(inner,a,use_reentrant=False)
with torch.no_grad(): a.mul_(2)
try: y.sum().backward()
except RuntimeError as e: print(e)
with torch.autograd.graph.saved_tensors_hooks(pack,unpack):
    a=x*2; y=checkpoint(inner,a,use_reentrant=False)
    with torch.no_grad(): a.mul_(2)
try: y.sum().backward(); print(x.grad)
except RuntimeError as e: print(e)
with torch.autograd.graph.save_on_cpu():
    y=checkpoint(outer,x*2,use_reentrant=False)
y.sum().backward()
print(x.grad)
