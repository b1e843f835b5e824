import torch
x = torch.ones(4, requires_grad=True)
y = x * 2
a, b = y.chunk(2)
try:
    a.mul_(2)
except RuntimeError as e:
    print(e)
for r in y.view(2, 2).unbind():
    r.add_(1)
z = x * 3
with torch.no_grad():
    v = z[:2]
v += 1
v = z[:2]
z.add_(1)
print(v.grad_fn)
y.sum().backward()
s = torch.split(x.clone(), 2)
s[0].zero_()
