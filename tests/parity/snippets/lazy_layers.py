"""Lazy layers of every kind: what they print, when they draw their weights, what an input that does not fit says."""

import torch
from torch import nn


def lazy_layers():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.LazyConv2d(4, 3, padding=1), nn.LazyBatchNorm2d(), nn.LazyConvTranspose2d(2, 2, stride=2), nn.Flatten(), nn.LazyLinear(3),
    )
    print(net, net[0].weight, list(net.state_dict()), net[0].has_uninitialized_params())
    torch.optim.SGD(net.parameters(), lr=0.1)
    for ask in (lambda: net[0].weight.shape, lambda: net[4].bias.numel()):
        try:
            ask()
        except (RuntimeError, ValueError) as error:
            print(type(error).__name__, error)
    x = torch.randn(2, 3, 4, 4)
    net(x).sum().backward()
    print(net, net[0].weight.grad.norm(), [tuple(one.shape) for one in (*net.parameters(), *net.buffers())], type(net[0].weight))
    print(nn.LazyBatchNorm1d(affine=False)(torch.randn(4, 3)).sum() < 1, nn.LazyConv1d(4, 3, groups=2, bias=False)(torch.ones(1, 4, 5)).shape)
    again = nn.Sequential(
        nn.LazyConv2d(4, 3, padding=1), nn.LazyBatchNorm2d(), nn.LazyConvTranspose2d(2, 2, stride=2), nn.Flatten(), nn.LazyLinear(3),
    )
    print(again.load_state_dict(net.state_dict()), torch.equal(net.eval()(x), again.eval()(x)), again)
    for layer, shape in ((nn.LazyConv2d(4, 3), (3, 3)), (nn.LazyConv2d(4, 3, groups=2), (1, 3, 5, 5))):
        try:
            layer(torch.ones(shape))
        except (RuntimeError, ValueError) as error:
            print(type(error).__name__, error)


lazy_layers()
