import torch

# an index outside: what is said of it, and what has been written by then
x = torch.zeros(2, 3, 4)
x[:, [0, 7]]
x[:, :, [-9]]
x[[0], :, [9]]
x[:, [1], [9]]
x[0, [1], [9]]
a = torch.zeros(3)
a[[0, 1, 5, 2]] = torch.arange(1.0, 5.0)
print(a, a._version)
a[[0, 1, 5, 2]] = torch.ones(3)
b = torch.zeros(3, 2)
b[[0, 7, 1]] = torch.ones(3, 2)
print(b)
b.zero_()
b[:, [0, 7]] = torch.ones(3, 2)
print(b)
b.zero_()
b[[0, 1, 2], [0, 7, 1]] = 1.0
print(b)
b.zero_()
b.index_put_((torch.tensor([0, 7]),), torch.ones(2), accumulate=True)
print(b)
c = torch.zeros(3, 2).t()
c[[0, 7]] = torch.ones(2, 3)
print(c)
d = torch.zeros(2, 3)
d[torch.tensor([[0, 1], [7, 0]])] = torch.ones(2, 2, 3)
print(d)
d[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]
