import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
print(y.grad_fn.metadata, x.is_leaf, y.is_leaf, y.output_nr, x._version)
y.grad_fn.metadata['a'] = 1
print(y.grad_fn.metadata)
print(type(y.grad_fn).__name__, y.grad_fn.__class__.__name__, str(y.grad_fn)[:14])
print(y.requires_grad, y.retains_grad, y.data.requires_grad, y.detach().grad_fn)
print(isinstance(x, torch.Tensor), isinstance(torch.nn.Parameter(x), torch.Tensor), torch.is_tensor(y), type(x), type(torch.nn.Parameter(x)))
print(hash(x) == hash(x), id(x) == id(x))
