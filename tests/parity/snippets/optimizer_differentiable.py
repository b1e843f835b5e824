import torch
from torch import optim

rate = torch.tensor(0.1, requires_grad=True)
makers = [
    lambda p: optim.SGD(p, 0.1, differentiable=True), lambda p: optim.SGD(p, rate, differentiable=True),
    lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1, differentiable=True),
    lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.1, maximize=True, differentiable=True),
    lambda p: optim.Adam(p, 0.1, weight_decay=0.1, differentiable=True), lambda p: optim.Adam(p, rate, differentiable=True),
    lambda p: optim.Adam(p, 0.1, amsgrad=True, differentiable=True), lambda p: optim.AdamW(p, 0.1, differentiable=True),
    lambda p: optim.Adamax(p, 0.1, differentiable=True), lambda p: optim.NAdam(p, 0.1, weight_decay=0.1, differentiable=True),
    lambda p: optim.RAdam(p, 0.1, differentiable=True), lambda p: optim.RMSprop(p, 0.1, differentiable=True),
    lambda p: optim.RMSprop(p, 0.1, centered=True, momentum=0.9, differentiable=True), lambda p: optim.Adagrad(p, 0.1, differentiable=True),
    lambda p: optim.Adadelta(p, 0.1, differentiable=True), lambda p: optim.Rprop(p, 0.1, differentiable=True),
    lambda p: optim.ASGD(p, 0.1, differentiable=True), lambda p: optim.Adam(p, 0.1, differentiable=True, foreach=True),
    lambda p: optim.Adam(p, 0.1, differentiable=True, fused=True),
    lambda p: optim.RAdam(p, 0.1, betas=(0.5, 0.6), decoupled_weight_decay=True, weight_decay=0.1, differentiable=True),
]
kept = []
for maker in makers:
    for steps in (1, 3):
        p = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
        rate.grad = None
        q = p.clone()
        try:
            optimizer = maker([q])
            for _ in range(steps):
                q.grad = (p * p.detach().sin() + q).clone()
                optimizer.step()
            (q ** 2).sum().backward()
            kept.append((q, p.grad, rate.grad, dict(optimizer.state[q])))
        except (RuntimeError, AssertionError) as error:
            print(type(error).__name__, str(error)[:300])
leaf = torch.ones(2, requires_grad=True)
optimizer = optim.SGD([leaf], 0.1, differentiable=True)
leaf.grad = torch.ones(2)
optimizer.step()
