import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(42)

class Generator(nn.Module):
    def __init__(self, latent_dim, hidden, out):
        super(Generator, self).__init__()
        self.net = nn.Sequential(
            nn.Linear(latent_dim, hidden),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(hidden, out),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z)

class Discriminator(nn.Module):
    def __init__(self, inp, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(inp, hidden),
            nn.LeakyReLU(0.2),
            nn.Dropout(0.3),
            nn.Linear(hidden, 1),
            nn.Sigmoid())

    def forward(self, x):
        return self.net(x).view(-1)

G = Generator(5, 8, 3)
D = Discriminator(3, 8)
criterion = nn.BCELoss()
opt_g = optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(3):
    real = torch.randn(6, 3)
    opt_d.zero_grad()
    out_real = D(real)
    loss_real = criterion(out_real, torch.ones(6))
    loss_real.backward()
    fake = G(torch.randn(6, 5))
    out_fake = D(fake.detach())
    loss_fake = criterion(out_fake, torch.zeros(6))
    loss_fake.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = criterion(D(fake), torch.ones(6))
    loss_g.backward()
    opt_g.step()
    print('[%d] Loss_D: %.4f Loss_G: %.4f' % (epoch, (loss_real + loss_fake).item(), loss_g.item()))
