import torch
x = torch.ones(2, 2, requires_grad=True)
y = x + 2
y.backward()
y.backward(torch.ones(3))
y.backward(torch.ones(2, 2))
print(x.grad)
y.backward(gradient=torch.tensor([[1., 0.], [0., 1.]]))
print(x.grad)
