import torch, torch.nn as nn, torch.nn.functional as F
from collections import OrderedDict
torch.manual_seed(0)

class Shared(nn.Module):
    def __init__(self, heads: dict):
        super().__init__()
        self.trunk = nn.Sequential(OrderedDict([('fc1', nn.Linear(6, 12)), ('act', nn.ELU()), ('fc2', nn.Linear(12, 8))]))
        self.heads = nn.ModuleDict({k: nn.Linear(8, v) for k, v in heads.items()})
        self.log_vars = nn.ParameterDict({k: nn.Parameter(torch.zeros(1)) for k in heads})

    def forward(self, x):
        h = F.elu(self.trunk(x))
        return {k: head(h) for k, head in self.heads.items()}

model = Shared({'cls': 3, 'reg': 1})
opt = torch.optim.SGD([{'params': model.trunk.parameters(), 'lr': 1e-2}, {'params': model.heads.parameters()}, {'params': model.log_vars.parameters(), 'lr': 1e-1}], lr=1e-3, momentum=0.9)
x, yc, yr = torch.randn(10, 6), torch.randint(0, 3, (10,)), torch.randn(10, 1)
for i in range(3):
    out = model(x)
    losses = {'cls': F.cross_entropy(out['cls'], yc), 'reg': F.mse_loss(out['reg'], yr)}
    total = 0
    for name, loss in losses.items():
        precision = torch.exp(-model.log_vars[name])
        total += precision * loss + model.log_vars[name]
    opt.zero_grad()
    for name, loss in losses.items():
        loss.backward()
    total.backward()
    opt.step()
    print(i, total.item(), {k: round(v.item(), 4) for k, v in losses.items()})
