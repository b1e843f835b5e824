import torch
import torch.nn as nn
import torch.nn.functional as F
from copy import deepcopy

class KDLoss(nn.Module):
    def __init__(self, T=4.0, alpha=0.7):
        super().__init__()
        self.T, self.alpha = T, alpha
    def forward(self, student, teacher, target):
        soft = F.kl_div(F.log_softmax(student / self.T, dim=1), F.softmax(teacher / self.T, dim=1), reduction='batchmean') * (self.T ** 2)
        hard = F.cross_entropy(student, target)
        return self.alpha * soft + (1. - self.alpha) * hard

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
kd = KDLoss()
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x, y = torch.randn(16, 6), torch.randint(0, 4, (16,))
t_logits = teacher(x)
t_loss = F.cross_entropy(t_logits, y)
t_loss.backward()
before = deepcopy(student.state_dict())
for i in range(3):
    loss = kd(student(x), t_logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, loss.item())
print(any(not torch.equal(a, b) for a, b in zip(before.values(), student.state_dict().values())))
