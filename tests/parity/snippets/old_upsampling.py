import torch
import torch.nn.functional as F

x=torch.arange(4.,requires_grad=True).view(1,1,2,2)
print(F.upsample_nearest(x, scale_factor=2), F.upsample_bilinear(x, (3,3)), F.upsample_bilinear(x, size=4).sum(), F.upsample(x, scale_factor=2, mode='bilinear', align_corners=True).sum())
