"""Datasets side by side, and the part of a dataset that one of several processes takes."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradsh.api.data import Dataset, Sampler
from gradsh.api.settings import no_group
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.ops.random import Generator
from gradsh.text.fault import fail


class StackDataset(Dataset):
    """Samples of several datasets of one length, as tuples or, for datasets by name, as dictionaries."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        if args and kwargs:
            message = "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types are given."
            raise fail("value", message, ValueError)
        if not args and not kwargs:
            raise fail("value", "At least one dataset should be passed", ValueError)
        self.datasets: Any = args or kwargs
        self._length = len(self._listed()[0])
        if any(len(one) != self._length for one in self._listed()):
            raise fail("shape", "Size mismatch between datasets", ValueError)

    def _listed(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def __getitem__(self, index: object) -> object:
        if isinstance(self.datasets, dict):
            return {name: one[index] for name, one in self.datasets.items()}
        return tuple(one[index] for one in self.datasets)

    def __len__(self) -> int:
        return self._length


class DistributedSampler(Sampler):
    """Every `num_replicas`-th index from `rank` on, after a permutation that each process draws alike."""

    def __init__(
        self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            no_group()
        if rank >= num_replicas or rank < 0:
            message = f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            raise fail("value", message, ValueError)
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            indices = find("randperm")(len(indices), generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        repeats = math.ceil(self.total_size / max(len(indices), 1))
        return iter((indices * repeats)[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Draw another permutation from the next pass on."""
        self.epoch = epoch


def default_convert(data: object) -> Any:
    """Return data with tensors in place of numpy's arrays and numbers, within tuples, lists and dictionaries."""
    if isinstance(data, (np.ndarray, np.generic)):
        return find("as_tensor")(data)
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if isinstance(data, dict):
        return {key: default_convert(one) for key, one in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    return [default_convert(one) for one in data] if isinstance(data, (tuple, list)) else data
