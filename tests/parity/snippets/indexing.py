import torch
x = torch.arange(12., requires_grad=True).reshape(3, 4)
print(x[0], x[:, 1], x[1:, ::2], x[..., -1], x[None].shape, x[[0, 2]], x[[0, 1], [1, 2]])
print(x[x > 5], x[torch.tensor([0, 0, 1])], x.index_select(1, torch.tensor([0, 2])))
y = x.clone()
y[y > 5] = 0
y[0] += 1
y[:, 0] = torch.tensor([7., 8., 9.])
print(y)
y[1, 1] *= 5
print(y.grad_fn)
print(x.gather(1, torch.tensor([[0], [1], [2]])), torch.nonzero(x > 9), x.max(dim=1), x.topk(2), x.sort(descending=True))
print(x.scatter(1, torch.tensor([[0], [1], [2]]), 0.))
print(torch.take(x, torch.tensor([0, 5])), x.masked_select(x < 2), x.narrow(0, 1, 2))
