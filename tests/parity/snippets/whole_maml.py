from collections import OrderedDict
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import grad


def net_forward(x, params):
    x = F.linear(x, params['w1'], params['b1']).relu()
    return F.linear(x, params['w2'], params['b2'])


def sample_task(g):
    amp = torch.empty(1).uniform_(0.1, 5.0, generator=g)
    phase = torch.empty(1).uniform_(0, 3.14, generator=g)
    def f(k):
        x = torch.empty(k, 1).uniform_(-5, 5, generator=g)
        return x, amp * torch.sin(x + phase)
    return f


def inner_update(params, x, y, lr=0.01, first_order=False):
    loss = F.mse_loss(net_forward(x, params), y)
    grads = grad(loss, params.values(), create_graph=not first_order)
    return OrderedDict((name, p - lr * g) for (name, p), g in zip(params.items(), grads)), loss


g = torch.Generator()
g.manual_seed(0)
torch.manual_seed(0)
params = OrderedDict()
params['w1'] = nn.Parameter(torch.randn(10, 1) * 0.5)
params['b1'] = nn.Parameter(torch.zeros(10))
params['w2'] = nn.Parameter(torch.randn(1, 10) * 0.5)
params['b2'] = nn.Parameter(torch.zeros(1))
meta_opt = torch.optim.Adam(params.values(), lr=1e-3)
for it in range(4):
    meta_loss = 0.
    for _ in range(3):
        task = sample_task(g)
        xs, ys = task(5)
        xq, yq = task(5)
        fast = params
        for _ in range(2):
            fast, l = inner_update(fast, xs, ys)
        meta_loss = meta_loss + F.mse_loss(net_forward(xq, fast), yq)
    meta_loss = meta_loss / 3
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
    print(it, round(meta_loss.item(), 4), params['w1'].grad.norm().item() > 0)
