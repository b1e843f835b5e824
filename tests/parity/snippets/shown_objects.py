import torch
import torch.nn as nn
import torch.nn.functional as F
for each in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
    limits = torch.finfo(each)
    print(limits, limits.bits, limits.eps, limits.max, limits.min, limits.tiny, limits.smallest_normal, limits.resolution)

for each in (torch.int64, torch.int32, torch.uint8, torch.uint16, torch.uint64):
    print(torch.iinfo(each), torch.iinfo(each).bits, torch.iinfo(each).max)

layer = nn.Linear(2, 3)
print(layer.named_parameters(), layer.named_buffers(), layer.parameters(), layer.named_modules())
x = torch.ones(2)
print(x.type, x.sum, torch.relu, F.relu)
print(layer.state_dict, layer.parameters, layer.named_modules)
