import numpy as np
import torch
from torch.utils.data import DataLoader

x = torch.tensor([1.0, 4.0, 9.0, 16.0], requires_grad=True)
for options in ({}, {"spacing": 2.0}, {"edge_order": 2}):
    (slope,) = torch.gradient(x, **options)
    print(slope)
    slope.square().sum().backward()
print(x.grad)
grid = torch.arange(12.0).reshape(3, 4) ** 2
print(torch.gradient(grid), torch.gradient(grid, dim=(1,), spacing=0.5), torch.gradient(grid, spacing=[1.0, 2.0]))
print(torch.gradient(torch.tensor([1, 2, 4])))
rows = [(np.float32(1.5), np.int64(3), np.ones(2)), (np.float32(2.5), np.int64(4), np.zeros(2))]
print(next(iter(DataLoader(rows, batch_size=2))))
torch.gradient(torch.ones(1))
