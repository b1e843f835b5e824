import torch
import torch.nn as nn
import torch.nn.functional as F
a = torch.randn(2, 3)
b = torch.randn(2, 4)
a + b
a @ b
torch.mm(a, b)
nn.Linear(4, 2)(a)
torch.cat([a, b])
torch.stack([a, b])
a.view(4, 2)
a.reshape(7)
a.expand(3, 3)
F.cross_entropy(torch.randn(3, 5), torch.tensor([1, 2]))
F.mse_loss(torch.randn(3, 1), torch.randn(4, 1))
nn.Conv2d(3, 8, 3)(torch.randn(1, 1, 8, 8))
nn.Conv2d(3, 8, 3)(torch.randn(8, 8))
torch.bmm(a, b)
a[5]
a[:, 3]
a[0, 0, 0]
a.sum(dim=2)
a.transpose(0, 2)
torch.dot(torch.ones(2), torch.ones(3))
F.cross_entropy(torch.randn(3, 5), torch.tensor([1, 2, 7]))
F.nll_loss(torch.randn(3), torch.tensor([1, 2, 7]))
nn.BatchNorm1d(4)(a)
nn.LSTM(4, 5)(torch.randn(2, 3, 3))
torch.einsum('ij,jk->ik', a, b)
a.squeeze(5)
nn.Embedding(3, 2)(torch.tensor([3]))
