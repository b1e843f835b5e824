import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.linspace(0, 1, 5).view(-1, 1).requires_grad_()
for it in range(3):
    opt.zero_grad()
    u = net(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    d2u = torch.autograd.grad(du, x, grad_outputs=torch.ones_like(du), create_graph=True)[0]
    loss = (d2u + u).pow(2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).squeeze()
    loss.backward()
    opt.step()
    print(f'{it}: {loss.item():.5f}')
