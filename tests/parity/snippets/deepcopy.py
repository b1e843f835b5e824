import torch, copy
x = torch.ones(2, requires_grad=True)
x.grad = torch.ones(2)
y = copy.deepcopy(x)
print(y.grad, y.requires_grad, y is x)
z = copy.copy(x)
z.data += 1
print(x)
m = torch.nn.Linear(2, 2)
m.extra = torch.ones(1)
m2 = copy.deepcopy(m)
print((m2.weight == m.weight).all().item(), m2.extra is m.extra)
m.act = m(torch.ones(1, 2))
copy.deepcopy(m)
l = [x * 2]
copy.deepcopy(l)
