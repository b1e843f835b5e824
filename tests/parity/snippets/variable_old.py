import torch
from torch.autograd import Variable
x = Variable(torch.ones(2, 2), requires_grad=True)
y = x + 2
print(y.creator)
z = (y * y * 3).mean()
z.backward()
print(x.grad.data, z.data[0])
v = Variable(torch.ones(1), volatile=True)
print(z.item())
