import collections
import contextlib
import functools
import itertools
import re
import threading

import numpy as np
import torch
from torch import nn


class Dice(nn.Module):
    def __init__(self):
        super().__init__()
        self.__name__ = "dice"

    def forward(self, x):
        return x


print(Dice().__name__, Dice())
layer = nn.Linear(1, 1)
layer.__name__ = "first"
print(layer.__name__)
nn.Linear(1, 1).__name__
add = functools.partial(torch.add, 1)
add.__name__ = "add one"
add.tag = 3
print(add.__name__, add.tag, add(2))
functools.partial(max).__name__


def base(x):
    "What base does."
    return x


base.tag = 5
twin = functools.update_wrapper(functools.partial(base, 3), base)
print(twin.__name__, twin.tag, twin())
objects = [
    torch.float32, torch.device("cpu"), torch.Size([1]), torch.strided, torch.max(torch.ones(1, 1), 0), torch.finfo(torch.float32),
    torch.Generator(), torch.ones(1), layer, np.ones(1), np.float64(1), np.dtype("f4"), collections.deque(), collections.Counter(),
    collections.OrderedDict(), collections.defaultdict(int), re.compile("a"), re.match("a", "a"), add, (1).__add__, iter([]),
]
for one in objects:
    try:
        one.missing
    except AttributeError as error:
        print(error)
stack = contextlib.ExitStack()
stack.__enter__().callback(print, "left")
stack.__exit__(None, None, None)
for manager in (torch.random.fork_rng(), contextlib.suppress(ValueError), threading.Lock(), torch.enable_grad(), contextlib.nullcontext(7)):
    manager.__enter__()
    manager.__exit__(None, None, None)
print(zip([1], [2]).__next__(), itertools.count(3).__next__(), "ab".__iter__().__next__(), range(3).__iter__().__len__ if False else 0)
(x for x in [1]).next()
