import torch
w = torch.randn(2, 2, requires_grad=True)
try:
    w += 1
except RuntimeError as e:
    print(e)
try:
    w[0] = 0
except RuntimeError as e:
    print(e)
try:
    w[0][1].fill_(3)
except RuntimeError as e:
    print(e)
try:
    w.zero_()
except RuntimeError as e:
    print("caught:", e)
w.mul_(2)
w[0, 0] = 1
v = w.view(-1)
v.add_(1)
w.data += 1
with torch.no_grad():
    w -= 0.1
print(w, w._version)
