import torch
import torch.nn as nn

torch.manual_seed(0)
class Worker:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.losses = []
    def collect(self, batches):
        for x in batches:
            self.losses.append(self.model(x).pow(2).mean())
    def update(self):
        for i, loss in enumerate(self.losses):
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            print(f"update {i}: {loss.item():.4f}")
        self.losses.clear()

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
w = Worker(net, 0.1)
w.collect([torch.randn(3, 4) for _ in range(3)])
w.update()
