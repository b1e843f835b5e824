import torch
x = torch.tensor([1., 2.], requires_grad=True)
f = x[0]**3 * x[1] + x[1]**2
g, = torch.autograd.grad(f, x, create_graph=True)
print(g)
H = torch.stack([torch.autograd.grad(gi, x, retain_graph=True)[0] for gi in g])
print(H)
print(torch.autograd.functional.hessian(lambda x: x[0]**3 * x[1] + x[1]**2, torch.tensor([1., 2.])))
print(torch.autograd.functional.jacobian(lambda x: torch.exp(x), torch.tensor([0., 1.])))
