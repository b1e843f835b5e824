import torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
for layer in net:
    if isinstance(layer, nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(net, mesh=mesh)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(4, 8)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"done {dist.get_rank()}\n", end="", flush=True)
loss.backward()
dist.destroy_process_group()
