import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader
import random
from typing import Tuple


class SiameseDataset(Dataset):
    def __init__(self, n_classes=3, per_class=6):
        super().__init__()
        torch.manual_seed(0)
        self.data = {c: torch.randn(per_class, 8) + c for c in range(n_classes)}
        self.pairs = []
        for c, rows in self.data.items():
            for i in range(per_class - 1):
                self.pairs.append((rows[i], rows[i + 1], 0.0))
                other = random.choice([k for k in self.data.keys() if k != c])
                self.pairs.append((rows[i], self.data[other][i], 1.0))

    def __getitem__(self, index: int) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        a, b, y = self.pairs[index]
        return a, b, torch.tensor(y)

    def __len__(self) -> int:
        return len(self.pairs)


class ContrastiveLoss(torch.nn.Module):
    """Contrastive loss. Based on Hadsell et al."""

    def __init__(self, margin: float = 2.0):
        super(ContrastiveLoss, self).__init__()
        self.margin = margin

    def forward(self, output1, output2, label):
        euclidean_distance = F.pairwise_distance(output1, output2, keepdim=True)
        label = label.view(-1, 1)
        return torch.mean((1 - label) * torch.pow(euclidean_distance, 2) +
                          (label) * torch.pow(torch.clamp(self.margin - euclidean_distance, min=0.0), 2))


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(8, 16), nn.PReLU(), nn.Linear(16, 4))

    def forward_once(self, x):
        return self.fc(x)

    def forward(self, a, b):
        return self.forward_once(a), self.forward_once(b)


if __name__ == "__main__":
    random.seed(7)
    ds = SiameseDataset()
    dl = DataLoader(ds, batch_size=10, shuffle=True, num_workers=0, drop_last=True)
    net, crit = SiameseNetwork(), ContrastiveLoss()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    triplet = nn.TripletMarginLoss(margin=1.0, p=2)
    for epoch in range(3):
        running = 0.0
        for i, (x0, x1, lab) in enumerate(dl, 0):
            opt.zero_grad()
            o1, o2 = net(x0, x1)
            loss = crit(o1, o2, lab)
            loss += 0.1 * triplet(o1, o2, o1.roll(1, 0))
            loss.backward()
            opt.step()
            running += loss.item() * x0.size(0)
        print(f"epoch {epoch + 1} loss {running / len(ds):.5f}")
