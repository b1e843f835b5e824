import torch
from torch import autograd, nn
torch.manual_seed(0)
netD = nn.Sequential(nn.Linear(2, 5), nn.ReLU(True), nn.Linear(5, 1))
def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(real_data.size(0), 1)
    alpha = alpha.expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = autograd.Variable(interpolates, requires_grad=True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones(disc_interpolates.size()),
                              create_graph=True, retain_graph=True, only_inputs=True)[0]
    gradient_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * 10
    return gradient_penalty
gp = calc_gradient_penalty(netD, torch.randn(4, 2), torch.randn(4, 2))
print(gp)
gp.backward()
for p in netD.parameters():
    print(p.grad)
