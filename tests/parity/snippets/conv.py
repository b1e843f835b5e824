import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 2, kernel_size=3)
        self.conv2 = nn.Conv2d(2, 4, kernel_size=3)
        self.conv2_drop = nn.Dropout2d()
        self.fc1 = nn.Linear(4, 5)
        self.fc2 = nn.Linear(5, 3)
    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2_drop(self.conv2(x)), 2))
        x = x.view(-1, 4)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, training=self.training)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)
model = Net()
print(model)
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5)
for batch_idx in range(2):
    data, target = torch.randn(2, 1, 10, 10), torch.randint(3, (2,))
    opt.zero_grad()
    output = model(data)
    loss = F.nll_loss(output, target)
    loss.backward()
    opt.step()
    print('Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}'.format(1, batch_idx, 2, 100. * batch_idx / 2, loss.item()))
model.eval()
with torch.no_grad():
    output = model(torch.randn(2, 1, 10, 10))
    pred = output.argmax(dim=1, keepdim=True)
    print(pred, pred.eq(torch.tensor([1, 2]).view_as(pred)).sum().item())
