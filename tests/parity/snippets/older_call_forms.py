"""Scaled sums as PyTorch took them before 2020; old tensor types without data; resizing of integers."""
import numpy as np
import torch
import torch.nn.functional as F

a, b, m = torch.ones(2), torch.full((2,), 3.0), torch.eye(2)
n = m[None]
w = torch.ones(2, requires_grad=True)
w.sum().backward()
w.data.add_(-0.1, w.grad.data)
print(w, w._version)
print(torch.add(a, 10, b), a.add(10, b), a.clone().sub_(2, b), torch.sub(a, 2, b))
print(a.clone().addcmul_(0.5, a, b), torch.addcmul(a, 0.5, a, b), a.clone().addcdiv_(-0.5, a, b), a.addcdiv(2, a, b))
print(torch.addmm(0.5, m, 2, m, m), m.addmm(0.5, 2, m, m), torch.addmm(0.5, m, m, m), m.clone().addmm_(0.5, m, m))
print(torch.addmv(0.5, a, 2, m, b), a.addmv(0.5, m, b), torch.addr(0.5, m, a, b), n.baddbmm(0.5, n, n), m.addbmm(0.5, n, n))
y = torch.add(w, 2, w * w)
y.sum().backward()
print(w.grad)
for call in (lambda: a.add(1, 2, b), lambda: a.add("x", b), lambda: a.mul(2, b), lambda: a.addcmul(0.5, a), lambda: torch.add(1, a, b)):
    try:
        call()
    except TypeError:
        print("TypeError")
print(torch.FloatTensor(), torch.LongTensor().shape, torch.FloatTensor(torch.Size([])).shape, torch.cat((torch.FloatTensor(), a), 0))
print(np.ndarray(shape=(2, 3), dtype=int, buffer=np.array([1, 2, 3, 4, 5, 6])))
for kind in (torch.long, torch.bool, torch.uint8):
    for dims, modes in ((1, ("nearest", "linear")), (2, ("nearest", "bilinear", "bicubic")), (3, ("nearest-exact", "trilinear"))):
        for mode in modes:
            try:
                print(F.interpolate(torch.ones((2, 3) + (4,) * dims).to(kind), size=(2,) * dims, mode=mode).shape)
            except NotImplementedError as error:
                print(error)
