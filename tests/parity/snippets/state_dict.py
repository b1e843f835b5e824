import torch
import torch.nn as nn
import copy
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
sd = m.state_dict()
print(list(sd.keys()))
for k in sd:
    print(k, "\t", sd[k].size())
m2 = copy.deepcopy(m)
opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
m(torch.randn(4, 2)).sum().backward()
opt.step()
print(m2[0].weight, m[0].weight)
m2.load_state_dict(m.state_dict())
print((m2[0].weight == m[0].weight).all())
print(opt.state_dict()['param_groups'])
del sd['0.weight']
m2.load_state_dict(sd)
x = torch.ones(2, requires_grad=True) * 2
copy.deepcopy(x)
res = m2.load_state_dict(sd, strict=False)
print(res)
