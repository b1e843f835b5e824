import copy
import torch
from torch.optim.lr_scheduler import CyclicLR, LRScheduler, StepLR
weights = [torch.nn.Parameter(torch.ones(1))]
optimizer = torch.optim.SGD(weights, lr=0.1, momentum=0.9)
steps = StepLR(optimizer, 2)
print({name: value for name, value in steps.__dict__.items() if name != "optimizer"}, list(vars(steps)))
class Times(LRScheduler):
    def __init__(self, optimizer, n):
        self.n = n
        super().__init__(optimizer)
    def get_lr(self):
        return [base * self.n for base in self.base_lrs]
times = Times(optimizer, 3)
print(list(times.__dict__))
times.__dict__["n"] = 4
optimizer.step()
times.step()
print(optimizer.param_groups[0]["lr"])
times.__dict__.update({"n": 5})
print(times.n, times.__dict__["optimizer"] is optimizer)
other = copy.deepcopy(steps)
other.step()
print(other.state_dict(), steps.state_dict())
cyclic = CyclicLR(optimizer, base_lr=0.01, max_lr=0.1, gamma=0.9)
print({name: value for name, value in cyclic.__dict__.items() if not callable(value) and name != "optimizer"})
