import torch

# a gradient that is only looked at in another shape on its way becomes .grad as it is, memory and all
x = torch.randn(2, 2, requires_grad=True)
y = torch.randn(2, 2, requires_grad=True)
(x.view(-1) + y.view(-1)).backward(torch.ones(4))
x.grad.mul_(3)
print(y.grad)
x.grad = None
g = torch.ones(4)
x.reshape(4).backward(g)
x.grad.zero_()
print(g)
x.grad = None
g = torch.ones(2, 2)
x.t().backward(g)
x.grad.zero_()
print(g)
s = torch.tensor(2.0, requires_grad=True)
g = torch.tensor(1.0)
s.sum().backward(g)
s.grad.zero_()
print(g)

# a leaf that got other extents since
x = torch.zeros((1,), requires_grad=True)
n = (x * 2).sum()
with torch.no_grad():
    x.squeeze_()
n.backward()
print(x.shape, x.grad)
x = torch.ones((1, 3), requires_grad=True)
n = (x * 2).sum()
with torch.no_grad():
    x.squeeze_()
n.backward()
print(x.grad)
x = torch.ones((2, 3), requires_grad=True)
n = (x * 2).sum()
with torch.no_grad():
    x.t_()
n.backward()

# empty
print(torch.zeros((0,), requires_grad=True).take_along_dim(torch.zeros((0,), dtype=torch.long), -1))
print(torch.empty(0, dtype=torch.long) // 0, torch.empty(0, dtype=torch.long) % 0)
print(torch.randn(0, 3).index_select(1, torch.tensor([0])).shape)
torch.randn(0, 3).index_select(0, torch.tensor([0]))
torch.randn(0, 3).index_select(1, torch.tensor([5]))
torch.randn(0).index_select(0, torch.tensor([0]))

# versions
x = torch.randn(2, 3, requires_grad=True)
(x.asinh() * x.trace()).sum().backward()
print(x.grad._version)
x.grad = None
x.trace().backward()
print(x.grad._version)
o = torch.ones((), requires_grad=True)
print([(q, q._version) for q in torch.autograd.grad(torch.copysign(x, o).sum(), [x, o])])
p = torch.rand(3, requires_grad=True)
(g,) = torch.autograd.grad(torch.logit(p).sum(), p, create_graph=True)
print(g.grad_fn.next_functions[1][0].next_functions[1][0]._saved_other._version)

# running sums, views of storage, weight norm
x = torch.randn(3, requires_grad=True)
x.cumsum(-1).sum().backward()
print(x.grad._version)
z = torch.randn(2, 3, 4, requires_grad=True)
v = z.as_strided((2, 2), (1, 1))
(g,) = torch.autograd.grad((v * v).sum(), z, create_graph=True)
print(g._version, g.grad_fn, g._is_view())
lin = torch.nn.utils.weight_norm(torch.nn.Linear(2, 3))
lin(torch.randn(2, 2)).sum().backward(create_graph=True)
print(lin.weight_v.grad.grad_fn.next_functions, lin.weight_g.grad.grad_fn.next_functions)

# dtypes, layouts and words
F = torch.nn.functional
a = torch.tensor([[0.5, -1.0], [2.0, 0.0]])
b = torch.tensor([[0.5, 0.0], [1.0, 0.0]])
print(F.binary_cross_entropy_with_logits(a.double(), b), F.binary_cross_entropy_with_logits(a, b.double()))
F.binary_cross_entropy_with_logits(a, b.long())
torch.tensor(1.0).roll(1, -1)
print(F.gumbel_softmax(torch.ones(2, 3).t(), hard=True).stride())
x = torch.randn(2, 3, requires_grad=True)
(x - x.tanh()).as_strided((2,), (1,)).sum().backward()
print(x.grad._version)
y = x.tanh()
with torch.no_grad():
    y.t_()
y.sum().backward()
