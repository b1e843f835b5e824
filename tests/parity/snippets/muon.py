import torch
import torch.nn as nn

torch.manual_seed(0)
for shape in ((4, 6), (6, 4), (3, 3), (1, 5)):
    for settings in ({}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"}, {"ns_steps": 1}):
        weight = nn.Parameter(torch.randn(shape))
        optimizer = torch.optim.Muon([weight], lr=0.02, **settings)
        for _ in range(3):
            weight.grad = torch.randn(shape)
            optimizer.step()
        print([f"{value:.4f}" for value in weight.detach().flatten()[:6].tolist()], weight._version)
print(optimizer, list(optimizer.state_dict()["state"][0]))
for wrong in ({"lr": -1}, {"momentum": -1}, {"adjust_lr_fn": "x"}, {"ns_steps": 100}):
    try:
        optimizer = torch.optim.Muon([weight], **wrong)
        optimizer.step()
    except ValueError as e:
        print(e)
try:
    torch.optim.Muon([nn.Parameter(torch.ones(3))])
except ValueError as e:
    print(e)
averaged = torch.optim.swa_utils.SWALR(torch.optim.SGD([weight], lr=1.), swa_lr=.05)
print(averaged.state_dict())
