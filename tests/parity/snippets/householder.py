import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import orthogonal

torch.manual_seed(0)
shapes = [(4, 2), (2, 4), (3, 3)]
for rows, columns in shapes:
    for trivial in (True, False):
        layer = orthogonal(nn.Linear(columns, rows), orthogonal_map="householder", use_trivialization=trivial)
        layer.weight.sin().sum().backward()
        gradients = [p.grad for p in layer.parameters()]
        identity = layer.weight.T @ layer.weight if rows >= columns else layer.weight @ layer.weight.T
        print((identity - torch.eye(min(rows, columns))).abs().max() < 1e-5)
default = orthogonal(nn.Linear(2, 4))
print(default, list(default.state_dict()))
A = torch.randn(4, 3, requires_grad=True)
tau = torch.rand(3, requires_grad=True)
Q = torch.linalg.householder_product(A, tau)
first = torch.autograd.grad(Q.sin().sum(), (A, tau), retain_graph=True)
P = torch.orgqr(A, tau[:2])
P.exp().sum().backward()
R, factors = torch.geqrf(A.detach())
for a, b in [(A[:2], tau), (A, torch.rand(5)), (A, tau.double()), (A[0], tau), (A[None], tau), (A, tau[None])]:
    try:
        torch.linalg.householder_product(a, b)
    except RuntimeError as error:
        print(error)
geqrf = torch.geqrf(A)
geqrf.a.sum().backward()
