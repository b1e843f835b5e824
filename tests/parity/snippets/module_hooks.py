import torch
import torch.nn as nn
torch.manual_seed(0)
activation = {}
def get_activation(name):
    def hook(model, input, output):
        activation[name] = output.detach()
    return hook
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.fc2 = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))
model = Net()
handle = model.fc1.register_forward_hook(get_activation('fc1'))
out = model(torch.randn(2, 3))
print(activation['fc1'])
def bw(module, grad_input, grad_output):
    print(module, [g.shape if g is not None else None for g in grad_input], [g.shape for g in grad_output])
h2 = model.fc2.register_full_backward_hook(bw)
model(torch.randn(2, 3)).sum().backward()
handle.remove()
model.fc2.register_forward_pre_hook(lambda m, inp: (inp[0] * 2,))
print(model(torch.ones(1, 3)))
