import torch
x = torch.ones((2, 3), requires_grad=True)
g = torch.autograd.grad(x.sum(), x)[0]
g.index_fill_(0, torch.tensor([0]), 1.5)
h = torch.ones(3, 1).expand(3, 2)
h.masked_fill_(h > 0, 4.)
k = torch.randn(3, 3)
k.tril_()
y = torch.randn(3, 3, requires_grad=True) * 1
y.masked_fill_(y > 0, 2.)
y.triu_()
y.sum().backward()
n = torch.tensor([float('nan'), 1.])
n.masked_fill_(n != n, 0.)
