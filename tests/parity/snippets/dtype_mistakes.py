import torch
import torch.nn as nn
torch.ones(2, dtype=torch.int64, requires_grad=True)
x = torch.tensor([1, 2, 3])
x.requires_grad_()
x.requires_grad = True
x.mean()
a = torch.randn(2, 3).double()
lin = nn.Linear(3, 1)
lin(a)
torch.matmul(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.long))
loss = nn.CrossEntropyLoss()
loss(torch.randn(2, 3), torch.tensor([0., 1.]))
nn.BCELoss()(torch.rand(2), torch.tensor([0, 1]))
nn.Embedding(3, 2)(torch.tensor([0.5]))
x += 0.5
torch.tensor([1, 2]) / 2
print(torch.tensor([1, 2]) / 2, torch.tensor([3]) // 2, x * 1.5)
torch.cat([torch.ones(2), torch.ones(2, dtype=torch.long)])
x[0] = 1.7
print(x)
