import torch

print(torch.Tensor(), torch.Tensor(2, 3).shape, torch.Tensor([1, 2]), torch.Tensor(torch.Size([2])).shape)
