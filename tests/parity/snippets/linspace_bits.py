import torch
import torch.nn.functional as F
for n in (2, 3, 7, 8, 12, 28, 33, 100):
    print([one.hex() for one in torch.linspace(-1, 1, n).tolist()])
    print([one.hex() for one in torch.linspace(0.1, 17.3, n, dtype=torch.float64).tolist()])
theta = torch.tensor([[[1., 0, 0], [0, 1, 0]]], requires_grad=True)
for align in (False, True):
    grid = F.affine_grid(theta, (1, 1, 7, 12), align_corners=align)
    print([one.hex() for one in grid[0, 0, :, 0].tolist()])
    image = torch.rand(1, 1, 7, 12, generator=torch.Generator().manual_seed(3))
    out = F.grid_sample(image, grid, align_corners=align)
    print((out * out).sum().item())
for zeros in (torch.full((2,), -0.0), torch.full((), -0.0, dtype=torch.float64), torch.ones(2).new_full((1,), -0.0)):
    print(zeros, torch.atan2(torch.zeros_like(zeros), zeros))
