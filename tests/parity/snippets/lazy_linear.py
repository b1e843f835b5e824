"""A Linear that takes its input size from the first input."""

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Flatten(), nn.LazyLinear(5), nn.ReLU(), nn.LazyLinear(2, bias=False))
    print(net, type(net[1]).__name__)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(4, 3, 2)
    for _ in range(3):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{loss.item():.5f}")
    print(net, type(net[1]), isinstance(net[3], nn.LazyLinear))
    print({name: tuple(value.shape) for name, value in net.state_dict().items()})
    try:
        net(torch.randn(4, 7))
    except RuntimeError as error:
        print(error)


main()
