import torch, torch.nn as nn
class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer('mean', torch.zeros(n))
        self.gamma = nn.Parameter(torch.ones(n))
        self.count = 0
    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        self.count += 1
        return (x - self.mean) * self.gamma
m = Norm(2)
x = torch.randn(4, 2, generator=torch.Generator().manual_seed(3), requires_grad=False)
for i in range(3):
    y = m(x * m.gamma)
    loss = y.pow(2).mean()
    loss.backward()
    print(i, loss.item(), m.mean)
