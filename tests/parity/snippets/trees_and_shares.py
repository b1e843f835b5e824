from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_map, tree_map_only, tree_structure, tree_unflatten
from torch.utils.checkpoint import get_device_states, set_device_states
from torch.utils.data import DataLoader, StackDataset, TensorDataset, default_convert
from torch.utils.data.distributed import DistributedSampler

Pair = namedtuple("Pair", "x y")
for tree in ({"b": [1, (2, None)], "a": torch.Size([3])}, torch.ones(1, 1).max(0), deque([1], maxlen=2), defaultdict(list, a=1),
             OrderedDict(a=1), 5):
    print(tree_flatten(tree))
print(tree_map(lambda a, b: a + b, Pair(1, 2), Pair(3, 4)), tree_map_only(torch.Tensor, torch.neg, [1, torch.ones(1)]))
form = tree_structure([1, 2])
print(form, form.num_leaves, form == tree_structure([3, 4]), form.unflatten([5, 6]))
tree_map(lambda a, b: a, [1], [1, 2])
tree_map(lambda a, b: a, [1], (1,))
tree_unflatten([1], form)
for settings in ({}, {"shuffle": False}, {"drop_last": True}):
    sampler = DistributedSampler(list(range(11)), num_replicas=3, rank=1, **settings)
    sampler.set_epoch(2)
    print(list(sampler), len(sampler))
DistributedSampler([1])
DistributedSampler([1], 2, 5)
stacked = StackDataset(TensorDataset(torch.arange(4.)), TensorDataset(torch.arange(4.) * 2))
print(stacked[1], len(stacked), next(iter(DataLoader(stacked, batch_size=2))), StackDataset(a=[1, 2], b=[3, 4])[1])
StackDataset([1], [1, 2])
StackDataset()
print(default_convert({"a": np.ones(2), "b": [np.float64(1), "x"], "c": (1, 2)}))


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Buffer(torch.ones(2))
        self.b = nn.Buffer(torch.zeros(1), persistent=False)
        self.w = nn.Parameter(torch.ones(1))


held = Held()
print(list(held.state_dict()), [name for name, _ in held.named_buffers()], isinstance(held.a, nn.Buffer), type(held.a))
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Sequential(nn.BatchNorm1d(3), nn.ReLU()))
shared = nn.SyncBatchNorm.convert_sync_batchnorm(net)
y = shared[1](torch.randn(2, 2, 3, 3))
print(shared, shared is net, y.shape, shared[1].running_var, isinstance(shared[1], nn.BatchNorm2d))
nn.SyncBatchNorm(2)(torch.ones(2))
torch._assert(False, "the words")
print(get_device_states(y), set_device_states([], []), torch.set_grad_enabled(True))
print(torch.cuda._initialized)
