import torch
p = torch.ones(2, requires_grad=True)
log = []
p.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.clone()))
(p * 3).sum().backward()
print(log, p.grad)
def step(t):
    with torch.no_grad():
        t -= 0.1 * t.grad
        t.grad = None
q = torch.ones(2, requires_grad=True)
q.register_post_accumulate_grad_hook(step)
(q ** 2).sum().backward()
print(q, q.grad)
(q * 2).register_post_accumulate_grad_hook(step)
