import torch
x = torch.tensor([1., 2.])
if x > 1:
    print("yes")
bool(torch.tensor([]))
x.item()
float(x)
int(torch.tensor([1, 2]))
while x.sum() < 5:
    x = x * 2
print(x)
print(bool(torch.tensor(0)), not torch.tensor(1))
assert x.sum() == 3, "sum is wrong"
print(x == x, (x == x).all(), x.eq(1).any())
print(1 in torch.tensor([1, 2]), [1, 2] == [1, 2])
