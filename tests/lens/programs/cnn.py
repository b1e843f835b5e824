import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 7 * 7, 10)
    def forward(self, x):
        x = F.max_pool2d(torch.sigmoid(self.bn(self.conv1(x))), 2)
        h = torch.sigmoid(self.conv2(x))
        h *= 1.5
        h = F.max_pool2d(h, 2)
        return self.fc(h.flatten(1))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(epochs):
    for epoch in range(epochs):
        data = torch.randn(16, 1, 28, 28); target = torch.randint(0, 10, (16,))
        optimizer.zero_grad()
        output = model(data)
        loss = F.cross_entropy(output, target)
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())
train(3)
