import torch
import torch.nn.functional as F


def refused(call):
    try:
        call()
        print("runs")
    except (RuntimeError, IndexError, ValueError) as error:
        print(type(error).__name__, error)


for first, second in (((3,), (2, 2)), ((0,), (2, 2)), ((2, 2), (2, 2, 2)), ((), (2,)), ((2,), ())):
    for dim in (-3, -1, 0, 1, 2):
        refused(lambda: torch.cat([torch.ones(first), torch.ones(second)], dim))

images, rows = torch.rand(1, 3, 2, 2), torch.rand(2, 3, 5)
for target in (torch.zeros(1, 3, 2, dtype=torch.long), torch.zeros(1, 2, 2, dtype=torch.long)):
    for weight in (torch.ones(2), torch.ones(3)):
        refused(lambda: F.cross_entropy(images, target, weight=weight))
refused(lambda: F.nll_loss(rows, torch.zeros(2, 5, dtype=torch.long), weight=torch.ones(2)))
