import torch
import numpy as np
import torch.nn.functional as F

torch.manual_seed(0)
w = torch.tensor([1., 2.], requires_grad=True)
x = torch.tensor([3., 4.])
i = torch.tensor([1, 2])
a = np.array([5., 6.])
n = np.array([0, 1])
print(x + a, x - n, x * a, a / x, x / a, x ** n, i * a, x % a)
print(x == a, x != a, np.exp(x), np.add(x, a), np.isnan(x), np.maximum(i, n), np.dot(a, x))
print(i * np.float64(1.5), i + np.int64(1), np.float32(2) * x, x * np.float32(2), 1 - np.float32(1) / x)
y = x.clone()
y += a
print(y, y.dtype)
y[0] = a[0]
y[[0, 1]] = np.int64(7)
print(y)
w * a
a * x
a + x
x > a
torch.add(x, a)
x.mul(a)
torch.sin(a)
torch.stack([a, a])
torch.cat([x, a])
y[:] = a
y[0] = np.float32(1)
np.exp(w)
F.relu(a)
torch.nn.Linear(2, 2)(a)
torch.dot(x, a)
x.add_(a)
x.data = a
w.grad = a
(w * torch.from_numpy(a).float()).sum().backward()
print(w.grad)
