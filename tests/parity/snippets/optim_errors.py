import torch
from torch import optim, nn
x = torch.randn(2, requires_grad=True) * 2
optim.SGD([x], lr=0.1)
optim.SGD([], lr=0.1)
optim.SGD(torch.ones(2, requires_grad=True), lr=0.1)
optim.SGD([torch.ones(1, requires_grad=True)], lr=-1)
optim.Adam([torch.ones(1, requires_grad=True)], betas=(1.5, 0.9))
w = torch.ones(1, requires_grad=True)
optim.SGD([w, w], lr=0.1)
optim.SGD(["a"], lr=0.1)
o = optim.SGD([w], lr=0.1)
o.step()
print(w)
o.add_param_group({'params': [w]})
optim.SGD([{'params': [w]}, {'params': [torch.zeros(1, requires_grad=True)], 'lr': 1e-3}], lr=0.01, momentum=0.9)
print(optim.Adam([w]))
