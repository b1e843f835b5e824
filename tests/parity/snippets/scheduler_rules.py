import torch
from torch import nn, optim
from torch.optim import lr_scheduler

p = nn.Parameter(torch.tensor([1.0, 2.0]))


class Factor:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor * epoch


for name in ("LambdaLR", "MultiplicativeLR"):
    first, second = Factor(3), Factor(7)
    state = getattr(lr_scheduler, name)(optim.SGD([p], lr=0.1), first).state_dict()
    print(state["lr_lambdas"])
    other = getattr(lr_scheduler, name)(optim.SGD([p], lr=0.1), second)
    other.load_state_dict(state)
    print(second.factor)
print(lr_scheduler.LambdaLR(optim.SGD([p], lr=0.1), lambda epoch: 0.5).state_dict()["lr_lambdas"])
for name, options in (("ExponentialLR", {"gamma": 0.5}), ("StepLR", {"step_size": 1}), ("CosineAnnealingLR", {"T_max": 4})):
    rate = torch.tensor(0.1)
    optimizer = optim.SGD([p], lr=rate)
    scheduler = getattr(lr_scheduler, name)(optimizer, **options)
    for _ in range(2):
        optimizer.step()
        scheduler.step()
    group = optimizer.param_groups[0]
    print(group["lr"] is rate, group["initial_lr"] is rate, rate, group["initial_lr"], scheduler.get_last_lr(), scheduler.base_lrs)
optimizer = optim.SGD([p], lr=0.1)
plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.01])
later = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))], "lr": 0.5})
for scheduler in (later, plateau):
    scheduler.step(1.0)
    try:
        scheduler.step(2.0, epoch=4)
    except RuntimeError as error:
        print(error)
    print([group["lr"] for group in optimizer.param_groups], scheduler.min_lrs, scheduler.last_epoch)
print(lr_scheduler.EPOCH_DEPRECATION_WARNING)
