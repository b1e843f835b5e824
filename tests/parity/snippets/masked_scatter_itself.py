import torch

# the source may share memory with what is written: elements are read one by one, after those before were written
v = torch.tensor([[0.5, 0.0, -1.0], [2.0, 3.0, -4.0]])
print(v.masked_scatter_(v > 0, v))
v = torch.tensor([1.0, -1.0, 2.0, 3.0])
print(v.masked_scatter_(v > 0, v[1:]))
v.masked_scatter_(v > 0, v[:1])
v = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
print(v.masked_scatter_(v > 1, v.t()))
print(v.masked_scatter(v > 1, v))
