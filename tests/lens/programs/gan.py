import torch
from torch import nn
torch.manual_seed(2)
G = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 16), nn.Tanh())
D = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
criterion = nn.BCELoss()
optG = torch.optim.Adam(G.parameters(), lr=2e-4); optD = torch.optim.Adam(D.parameters(), lr=2e-4)
ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
for step in range(4):
    real = torch.randn(16, 16)
    noise = torch.randn(16, 8)
    fake = G(noise)
    D.zero_grad()
    errD_real = criterion(D(real), ones)
    output = D(fake)
    errD_fake = criterion(output, zeros)
    errD = errD_real + errD_fake
    errD.backward()
    optD.step()
    G.zero_grad()
    errG = criterion(D(fake), ones)
    errG.backward()
    optG.step()
    print(step, errD.item(), errG.item())
