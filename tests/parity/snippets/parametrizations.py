import torch
import torch.nn as nn
import torch.nn.utils.parametrize as P
torch.manual_seed(0)
l = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
print(l)
print(list(l.state_dict()))
x = torch.randn(2, 3)
y = l(x)
y.sum().backward()
print(l.weight, l.weight.grad_fn)
print([n for n, p in l.named_parameters()])
s = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2))
z = s(x)
z.sum().backward()
z = s(x)
s.eval()
z = s(x)
print(list(s.state_dict()))
class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).mT
m = nn.Linear(3, 3)
P.register_parametrization(m, 'weight', Sym())
print(m.weight)
print(P.is_parametrized(m), P.is_parametrized(m, 'weight'), P.is_parametrized(m, 'bias'))
m.weight = torch.eye(3)
P.register_parametrization(m, 'nope', Sym())
w = m(x)
w.sum().backward()
P.remove_parametrizations(m, 'weight')
print(m)
o = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
v = o(x)
v.sum().backward()
print(o.weight @ o.weight.T)
opt = torch.optim.SGD(o.parameters(), lr=0.1)
opt.step()
print(o.weight @ o.weight.T)
c = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map='cayley')
u = c(torch.ones(1, 2))
print(c)
with P.cached():
    a = l.weight
    b = l.weight
    print(a is b)
cv = nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 3, 2), dim=None)
cc = cv(torch.ones(1, 2, 4))
P.remove_parametrizations(l, 'weight')
print(l, l.weight)
nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)
nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2), name='foo')
nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), name='bias')
nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map='x')
class Bad(nn.Module):
    def forward(self, X):
        return X[0]
P.register_parametrization(nn.Linear(2, 2), 'weight', Bad())
print(P.type_before_parametrizations(s))
import copy
s2 = copy.deepcopy(s)
s2(x)
