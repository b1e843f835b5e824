import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
drawn = [torch.rand(5, dtype=d) for d in (torch.float16, torch.bfloat16)] + [torch.randn(21, dtype=d) for d in (torch.float16, torch.bfloat16)]
dropped = F.dropout(torch.ones(9, dtype=torch.bfloat16), 0.3)
x = torch.arange(1.0, 7.0).reshape(2, 3).half().requires_grad_()
w = torch.tensor([0.5, -0.25, 2.0], dtype=torch.float16, requires_grad=True)
y = (x * w + 0.1) / 3 - x.relu()
total = y.pow(2).sum()
total.backward()
first, second = x.grad.clone(), w.grad.clone()
b = x.detach().bfloat16().requires_grad_()
z = (b.sigmoid() @ w.detach().bfloat16()).exp()
z.sum().backward()
mixed = b.float() * w.float()
kinds = [(x + torch.ones(1)).dtype, (x + torch.tensor(1.5)).dtype, (x + 1).dtype, torch.cat([x, b]).dtype, (x > 2.9999).tolist(), x.sum(dtype=torch.float32).dtype,
         torch.where(x > 2, x, torch.ones(1)).dtype, x.argmax().dtype, torch.result_type(x, b), torch.promote_types(torch.half, torch.bfloat16)]
bn = nn.BatchNorm1d(3).to(torch.bfloat16)
normal = bn(b)
ln = nn.LayerNorm(3)(x)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).bfloat16()
opt = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.5)
for _ in range(3):
    opt.zero_grad()
    net(b.detach()).square().mean().backward()
    opt.step()
shown = [str(t) for t in (x, b, total, dropped, net[0].weight.dtype, torch.full((2,), 0.1, dtype=torch.half))]
facts = [x.element_size(), x.nbytes, b.nbytes, b.itemsize, b.type(), x.stride(), str(x.half().numpy(force=True).dtype)]
words = []
for wrong in (lambda: b.detach().numpy(), lambda: torch.mm(x.detach(), torch.ones(3, 2)), lambda: torch.linalg.inv(torch.eye(2).half()),
              lambda: torch.cdist(x.detach(), x.detach()), lambda: nn.Linear(3, 1)(x.detach()), lambda: net(x.detach()), lambda: torch.special.zeta(x, x)):
    try:
        wrong()
    except Exception as error:
        words.append((type(error).__name__, str(error)))
