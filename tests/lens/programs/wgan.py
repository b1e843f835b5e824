import torch
from torch import nn, autograd
torch.manual_seed(7)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
def penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = D(mixed)
    grads, = autograd.grad(score, mixed, torch.ones_like(score), retain_graph=False, create_graph=False)
    return ((grads.norm(2, dim=1) - 1) ** 2).mean(), score
for step in range(3):
    for _ in range(2):
        real = torch.randn(8, 2) + 2
        fake = G(torch.randn(8, 4)).detach()
        gp, score = penalty(real, fake)
        loss = D(fake).mean() - D(real).mean() + 10 * gp + 0.001 * (score ** 2).mean()
        od.zero_grad(); loss.backward(); od.step()
    og.zero_grad()
    g_loss = -D(G(torch.randn(8, 4))).mean()
    g_loss.backward(); og.step()
    print(step, loss.item(), g_loss.item())
