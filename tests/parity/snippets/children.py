import torch.nn as nn
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Sequential(nn.Linear(2, 1)))
for name, m in net.named_modules():
    print(name, '->', m.__class__.__name__)
for c in net.children():
    print(type(c))
for i, (name, p) in enumerate(net.named_parameters()):
    print(i, name, p.shape, p.requires_grad)
def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.constant_(m.weight, 0.5)
        m.bias.data.fill_(0.01)
net.apply(init_weights)
print(net[0].weight, net[-1], len(net), net[0:2])
print(sum(p.numel() for p in net.parameters() if p.requires_grad))
net.train(False)
print(net.training, net[2].training)
