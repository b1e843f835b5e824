import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
def run():
    lin = nn.Linear(3, 2)
    a = torch.randn(2, 3)
    out = lin(a)
    for i in range(3):
        loss = (out ** 2).sum()
        loss.backward()
        print(i, lin.weight.grad.sum())
    return lin
lin = run()
print(lin)
