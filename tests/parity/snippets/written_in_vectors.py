import torch
from torch.distributions import Beta, Normal, biject_to, constraints, transform_to
from torch.utils.data import ChainDataset, DataLoader, IterableDataset

tenth = torch.arange(0, 10, 0.1)
falling = torch.arange(3.3, -0.2, -0.07)
wide = torch.arange(-5, 5, 0.3, dtype=torch.float64)
few = torch.arange(0.5, 1, 0.2)
whole = torch.arange(5.0)
scale = torch.logspace(-3.3, 0.2, 17)
double = torch.logspace(-3.3, 0.2, 17, dtype=torch.float64)
print([value.hex() for value in torch.cat([tenth, falling, few, scale]).double().tolist()])
print([value.hex() for value in wide.tolist()], [f"{value:.13e}" for value in double.tolist()])  # the last bits of powers are the processor's

numbers = torch.tensor([-1.0, 0.5, 2.0])
for constraint in (constraints.real, constraints.positive, constraints.greater_than(2.0), constraints.less_than(3.0),
                   constraints.unit_interval, constraints.interval(-1.0, 3.0), Normal(0.0, 1.0).arg_constraints["scale"]):
    print(transform_to(constraint)(numbers), biject_to(constraint)(numbers))
print(biject_to(Beta(1.0, 1.0).support).inv(torch.tensor(0.3)))


class Two(IterableDataset):
    def __iter__(self):
        yield from (1, 2)

    def __len__(self):
        return 2


chained = ChainDataset([Two(), Two() + Two()])
print(len(chained), list(chained), type(Two() + Two()).__name__, [batch.tolist() for batch in DataLoader(chained, batch_size=4)])
a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
older = torch.add(a, 10, other=b)
torch.mul(a, b, other=b)
a.add(b, other=b)
torch.cat([a], 0, dim=0)
torch.nn.functional.interpolate(torch.arange(16).view(1, 1, 4, 4), size=2, mode="area")
torch.nn.functional.adaptive_max_pool2d(torch.arange(16).view(1, 1, 4, 4), 2)
torch.nn.functional.avg_pool3d(torch.ones(1, 2, 2, 2, dtype=torch.int32), 2)
list(ChainDataset([[1]]))
biject_to(constraints.boolean)
