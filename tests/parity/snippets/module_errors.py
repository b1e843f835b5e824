import torch
import torch.nn as nn
class A(nn.Module):
    def __init__(self):
        self.l = nn.Linear(2, 2)
A()
class B(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
b = B()
b(torch.ones(1, 2))
b.foo
b.l = 3
b.l.weight = torch.ones(2, 2)
b.l.weight = nn.Parameter(torch.ones(2, 2))
print(b, b.l(torch.ones(1, 2)).shape)
b.register_parameter('p', torch.ones(2))
b.register_buffer('buf', torch.zeros(2))
print(dict(b.named_buffers()), b.buf)
b.l(1)
b.l()
b.l(torch.ones(2), torch.ones(2))
nn.Linear(2)
nn.Sequential(1, 2)
nn.ModuleList([nn.Linear(1, 1), 3])
