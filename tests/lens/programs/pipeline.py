import torch, torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
part = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
stage = PipelineStage(part, rank, 2, torch.device("cpu"))
def loss_fn(out, target):
    return (out - target).pow(2).mean()
schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=loss_fn)
opt = torch.optim.SGD(part.parameters(), lr=0.1)
for step in range(2):
    opt.zero_grad()
    if rank == 0:
        schedule.step(torch.randn(4, 8))
    else:
        losses = []
        schedule.step(target=torch.zeros(4, 8), losses=losses)
    opt.step()
print(f"done {rank}\n", end="", flush=True)
if rank == 1:
    sum(losses).backward()
dist.destroy_process_group()
