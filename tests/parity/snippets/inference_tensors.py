import torch
import copy
x = torch.ones(2, 3, requires_grad=True)
n = torch.ones(2, 3)
with torch.inference_mode():
    i = n * 2
    v = x.view(-1)
    w = n[0]
    iv = i[0]
    d = x.detach()
    z = torch.ones(2, requires_grad=True)
    k = x + 0
    c = n.contiguous()
    cl = n.clone()
    tt = torch.tensor([1.])
    print(torch.is_inference_mode_enabled(), torch.is_grad_enabled())
    n.add_(1)
    i.add_(1)
    i[0] = 2.
    print((x * 2).requires_grad)
    i.requires_grad_()
    i.requires_grad_(False)
print(i.is_inference(), v.is_inference(), w.is_inference(), iv._base)
i.add_(1)
i[0] = 3.
i.requires_grad_()
i.requires_grad = True
i * x
a = i + x
i.clone().is_inference()
b = i.view(-1)
f = i * 2
v.add_(1)
v.mul_(x.view(-1))
w.add_(1)
w.mul_(x[0])
n.mul_(i)
i.copy_(n)
torch.sin(i)
i.sum().backward()
torch.mm(x, i.t())
with torch.no_grad():
    i.add_(1)
print(torch.is_inference(i))
g = copy.deepcopy(i)
torch.nn.Parameter(i)
print(i.contiguous() is i)
@torch.inference_mode()
def ff(a): return a * 2
print(ff(x).is_inference())
with torch.inference_mode(False):
    print(torch.is_inference_mode_enabled())
leaf = torch.ones(3, requires_grad=True)
with torch.inference_mode():
    views = leaf[1:], leaf.unsqueeze(0), leaf.detach()
print([copy.deepcopy(view).requires_grad for view in views])
l = torch.nn.Linear(3, 2)
with torch.inference_mode():
    o = l(n)
o * l.weight.sum()
(o + l.bias).sum().backward()
