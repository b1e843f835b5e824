import torch
import torch.nn.functional as F

rows = torch.zeros(3, 0, requires_grad=True)
print(F.layer_norm(rows, (0,)).grad_fn._saved_result1, rows[torch.tensor([0, 7])].shape, rows.data_ptr())
for a, b in ((torch.ones(1), torch.ones(2).double()), (torch.ones(1, 2), torch.ones(3).double()), (torch.ones(1, 2), torch.ones(2).double())):
    try:
        a.mv(b)
    except RuntimeError as e:
        print(e)
for shapes in (((2, 3), (2, 1, 3)), ((4, 2, 3), (4, 5, 3))):
    print(torch.einsum("...i,...i->..." if shapes[1][1] == 1 else "bij,bkj->bki", *map(torch.ones, shapes)).stride())
t = torch.randn(3, 2).t()
print(torch.stack([t, t.double(), t], -1).stride())
column = torch.rand(3, 1)
try:
    column.lerp_(column.reshape(1, 3), 0.3)
except RuntimeError as e:
    print(e)
x = torch.arange(9.).view(3, 3).requires_grad_()
a, b, c = x.split(1)
square = torch.logaddexp(b, a.expand_as(a))
with torch.no_grad():
    x -= 1
try:
    square.grad_fn._saved_other
except RuntimeError as e:
    print(e)
y = x * 2
with torch.inference_mode():
    y.detach_()
    z = torch.atleast_2d(x)
print(y.requires_grad, z is x, x._version)
norm = torch.nn.LayerNorm(3)
out = norm(torch.ones(1, 3, requires_grad=True))
norm.double()
try:
    out.sum().backward()
except RuntimeError as e:
    print(e)
del square, out  # whose saved tensors can no longer be asked for
