"""The mistake: the penalty is computed once, before the loop, so that the second backward meets a graph that the first has freed."""

import os

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29531"}.items():
    os.environ.setdefault(name, value)
distributed.init_process_group("gloo")
rank, size = distributed.get_rank(), distributed.get_world_size()

torch.manual_seed(0)
inputs = torch.randn(64, 8)
targets = inputs.sum(dim=1, keepdim=True).tanh()
mine = slice(rank * 64 // size, (rank + 1) * 64 // size)
model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

penalty = sum(p.pow(2).sum() for p in model.parameters())

for step in range(5):
    loss = nn.functional.mse_loss(model(inputs[mine]), targets[mine]) + 1e-3 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0:
        print(f"step {step}: loss {loss.item():.3f}")
distributed.destroy_process_group()
