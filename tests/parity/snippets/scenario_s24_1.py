import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.a = nn.Linear(8, 2)
        self.b = nn.Linear(8, 3)
    def forward(self, x):
        h = F.relu(self.conv(x)).flatten(1)
        return self.a(h), self.b(h)
net = Net()
oa, ob = net(torch.randn(2, 1, 4, 4))
la = F.cross_entropy(oa, torch.tensor([0, 1]))
lb = F.cross_entropy(ob, torch.tensor([2, 1]))
lb.backward(retain_graph=True)
la.backward()
print(net.conv.weight.grad)
print(net.conv.bias.grad)
