import torch
import torch.nn as nn
import torch.nn.functional as F

x = torch.ones(2, 3)
y = torch.ones(2, 3)
F.relu()
F.relu(x, 1, 2)
F.mse_loss(x)
F.log_softmax()
F.cross_entropy(x)
F.cross_entropy(x, y, 1, 2, 3, 4, 5, 6, 7)
F.mse_loss(x, y, foo=1)
F.nll_loss(x)
F.pad(x)
x.exp(2)
x.sin(dim=1)
x.sum(0, 1, 2)
x.transpose()
x.transpose(0)
x.requires_grad_("a")
x.requires_grad = 3
x.size("a")
torch.norm()
nn.CrossEntropyLoss()(x)
nn.MSELoss()(x, y, y)
nn.Conv2d(3)
nn.ConvTranspose1d(3, 4)
x.index_fill_(0, torch.ones(2, 3, dtype=torch.long), 1)
torch.linalg.inv(torch.zeros(2, 2))
try:
    torch.linalg.cholesky(-torch.eye(2))
except torch.linalg.LinAlgError as e:
    print(type(e).__name__, isinstance(e, RuntimeError), e)
