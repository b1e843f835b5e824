import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(1)
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 32); self.fc21 = nn.Linear(32, 4); self.fc22 = nn.Linear(32, 4)
        self.fc3 = nn.Linear(4, 32); self.fc4 = nn.Linear(32, 64)
    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)
    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        std.mul_(eps)
        return mu + std
    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))
    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar
def loss_function(recon, x, mu, logvar):
    bce = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for batch in range(4):
    data = torch.rand(16, 64)
    optimizer.zero_grad()
    recon, mu, logvar = model(data)
    loss = loss_function(recon, data, mu, logvar)
    loss.backward()
    optimizer.step()
    print(batch, loss.item())
