import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


class VAE(nn.Module):
    def __init__(self, input_dim=20, hidden=16, z_dim=2):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(input_dim, hidden)
        self.fc21 = nn.Linear(hidden, z_dim)
        self.fc22 = nn.Linear(hidden, z_dim)
        self.fc3 = nn.Linear(z_dim, hidden)
        self.fc4 = nn.Linear(hidden, input_dim)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 20))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 20), reduction='sum')
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(torch.rand(64, 4, 5)), batch_size=16, shuffle=True)
for epoch in range(1, 4):
    model.train()
    train_loss = 0
    for batch_idx, (data,) in enumerate(loader):
        optimizer.zero_grad()
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print('====> Epoch: {} Average loss: {:.4f}'.format(epoch, train_loss / len(loader.dataset)))
with torch.no_grad():
    sample = model.decode(torch.randn(4, 2))
    print(sample.shape, sample.mean())
