import torch
x = torch.tensor([-1., 0., 1.], requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), torch.zeros_like(x))
y.sum().backward()
print(x.grad)
x.grad.zero_()
torch.sqrt(x.clamp(min=0)).sum().backward()
print(x.grad)
x.grad = None
with torch.autograd.detect_anomaly():
    z = torch.sqrt(x)
    z.sum().backward()
print(torch.norm(torch.zeros(2, requires_grad=True)))
