import torch
from torch.optim import Adafactor
torch.manual_seed(0)
for settings in ({}, {"lr": 0.5, "weight_decay": 0.1, "d": 2.0}, {"lr": torch.tensor(0.1), "maximize": True, "eps": (1e-5, 1e-2), "beta2_decay": -0.5}):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    cube = torch.nn.Parameter(torch.randn(2, 3, 2))
    optimizer = Adafactor([*net.parameters(), cube], **settings)
    for step in range(4):
        optimizer.zero_grad()
        loss = (net(torch.randn(5, 3)) ** 2).mean() + (cube ** 2).sum()
        loss.backward()
        optimizer.step()
        print(round(loss.item(), 4))
    print(net[0].weight, net[0].bias, cube)
    print({name: value.shape for name, value in optimizer.state[cube].items()}, list(optimizer.state[net[0].bias]), net[0].weight._version)
print(optimizer)
print(list(optimizer.state_dict()["state"][0]))
Adafactor([cube], lr=-1.0)
Adafactor([cube], d=0.5)
Adafactor([cube], eps=(-1.0, 1.0))
Adafactor([cube], beta2_decay=0.5)
Adafactor([cube], lr=torch.ones(2))
