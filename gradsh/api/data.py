"""torch.utils.data: datasets of tensors, samplers, and a loader that makes batches in PyTorch's order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice, repeat
from typing import Any, NamedTuple

import numpy as np

from gradsh.api.copying import deepcopy
from gradsh.engine.ambient import current
from gradsh.engine.attribute_names import ScriptBase
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.rng import generator as streams
from gradsh.ops.random import stream_of
from gradsh.text.fault import fail


class Dataset(ScriptBase):
    """Base of datasets: `__getitem__(index)` and `__len__()`."""

    __script_bag__ = True

    def __getitem__(self, index: Any) -> object:
        raise fail("type", "Subclasses of Dataset should implement __getitem__.", NotImplementedError)

    def __add__(self, other: "Dataset") -> "ConcatDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base of datasets that are gone through and have no indices: `__iter__()`."""

    def __add__(self, other: Dataset) -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of several tensors with the same first extent."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(one.shape[0] != tensors[0].shape[0] for one in tensors):
            raise fail("shape", "Size mismatch between tensors", AssertionError)
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(one[index] for one in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise fail("value", "datasets should not be an empty iterable", AssertionError)

    def __len__(self) -> int:
        return sum(len(one) for one in self.datasets)

    def __getitem__(self, index: int) -> object:
        place = index + len(self) if index < 0 else index
        for one in self.datasets:
            if place < len(one):
                return one[place]
            place -= len(one)
        raise IndexError("list index out of range")


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for one in self._parts():
            yield from one

    def __len__(self) -> int:
        return sum(len(one) for one in self._parts())

    def _parts(self) -> Iterator[Any]:
        for one in self.datasets:
            if not isinstance(one, IterableDataset):
                raise fail("type", "ChainDataset only supports IterableDataset", AssertionError)
            yield one


class Subset(Dataset):
    """The rows of a dataset at some indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> object:
        if isinstance(index, list):
            return self.dataset[[self.indices[one] for one in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Return random parts of a dataset, of the given lengths or shares."""
    size = len(dataset)
    counts = [int(one) for one in lengths]
    if abs(sum(lengths) - 1) < 1e-9 and sum(lengths) <= 1 + 1e-9:
        for index, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise fail("value", f"Fraction at index {index} is not between 0 and 1", ValueError)
        counts = [int(size * share) for share in lengths]
        for extra in range(size - sum(counts)):
            counts[extra % len(counts)] += 1
    if sum(counts) != size:
        raise fail("value", "Sum of input lengths does not equal the length of the input dataset!", ValueError)
    order = iter(stream_of(generator).randperm(size).tolist())
    return [Subset(dataset, list(islice(order, count))) for count in counts]


class Sampler(ScriptBase):
    """Base of samplers: `__iter__()` gives indices."""

    __script_bag__ = True


class SequentialSampler(Sampler):
    """The indices in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def _check_count(count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count <= 0:
        raise fail("value", f"num_samples should be a positive integer value, but got num_samples={count}", ValueError)


class RandomSampler(Sampler):
    """The indices in random order, drawn from `generator`, or from one that the default generator seeds for each pass."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_count(self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size = len(self.data_source)
        stream = streams.Generator().manual_seed(_seed(None)) if self.generator is None else stream_of(self.generator)
        whole = 32 if self.replacement else size
        rounds, rest = divmod(self.num_samples, whole)
        for count in chain(repeat(whole, rounds), (rest,)):  # PyTorch draws for the rest also where it is 0
            found = stream.randint(0, size, (count,)) if self.replacement else stream.randperm(size)[:count]
            yield from found.tolist()

    def __len__(self) -> int:
        return self.num_samples


def _seed(generator: Any) -> int:
    """Draw a seed, as PyTorch does for the workers of a loader and for a pass of a sampler."""
    return int(stream_of(generator).random_full((), np.dtype(np.int64)))


class SubsetRandomSampler(Sampler):
    """Some indices in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in stream_of(self.generator).randperm(len(self.indices)).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn by weight."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        _check_count(num_samples)
        self.weights = make(np.asarray(weights, np.float64))
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from stream_of(self.generator).multinomial(self.weights.array, self.num_samples, self.replacement).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Batches of a sampler's indices."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or batch_size <= 0:
            message = f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            raise fail("value", message, ValueError)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        size = len(self.sampler)
        return size // self.batch_size if self.drop_last else (size + self.batch_size - 1) // self.batch_size


def default_collate(batch: Sequence[Any]) -> Any:
    """Make one batch of samples: tensors are stacked, numbers become tensors, tuples and dictionaries are kept."""
    first = batch[0]
    if isinstance(first, Tensor):
        return find("stack")(list(batch), 0)
    if isinstance(first, (np.ndarray, np.generic)):
        return make(np.stack(list(batch)))
    if isinstance(first, float):
        return make(np.asarray(batch, np.float64))
    if isinstance(first, int):
        return make(np.asarray(batch, np.bool_ if all(isinstance(one, bool) for one in batch) else np.int64))
    if isinstance(first, dict):
        return {key: default_collate([one[key] for one in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch, strict=True)))
    if isinstance(first, (tuple, list)):
        return [default_collate(column) for column in zip(*batch, strict=True)]
    return batch


_WORKER = "data_worker"


class WorkerInfo(NamedTuple):
    """What a dataset is told of the worker that goes over it: its number, how many there are, its seed and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


setattr(WorkerInfo, "__script_attributes__", frozenset(WorkerInfo._fields))  # noqa: B010  (no field of a named tuple)


def get_worker_info() -> WorkerInfo | None:
    """Return what a worker is told, None in the program itself."""
    return current().flags.get(_WORKER)


@contextmanager
def _as_worker(info: WorkerInfo, generator: Any) -> Iterator[None]:
    """Be a worker for a while, with random numbers of its own."""
    ambient = current()
    before = ambient.flags.get(_WORKER), ambient.generator
    ambient.flags[_WORKER], ambient._generator = info, generator
    try:
        yield
    finally:
        ambient.flags[_WORKER], ambient._generator = before


class _SingleProcessDataLoaderIter:
    """One pass of a loader: its batches, and how many there are in all."""

    __module__ = "torch.utils.data.dataloader"
    __slots__ = ("_batches", "_loader")

    def __init__(self, loader: "DataLoader", batches: Iterator[object]) -> None:
        self._loader = loader
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> object:
        return next(self._batches)

    def __len__(self) -> int:
        return len(self._loader)


class _MultiProcessingDataLoaderIter(_SingleProcessDataLoaderIter):
    """The same, of a loader with workers."""

    __module__ = "torch.utils.data.dataloader"
    __slots__ = ()


class DataLoader(ScriptBase):
    """Goes over a dataset in batches; each pass draws PyTorch's random numbers."""

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
        batch_sampler: Any = None, num_workers: int = 0, collate_fn: Callable[..., object] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        multiprocessing_context: object = None, generator: object = None, **_other: object,
    ) -> None:
        del timeout, multiprocessing_context
        self.worker_init_fn = worker_init_fn
        if sampler is not None and shuffle:
            raise fail("value", "sampler option is mutually exclusive with shuffle", ValueError)
        streamed = isinstance(dataset, IterableDataset)
        if streamed and (shuffle or sampler is not None or batch_sampler is not None):
            named = f"shuffle option, but got shuffle={shuffle}" if shuffle else "sampler option"
            raise fail("value", f"DataLoader with IterableDataset: expected unspecified {named}", ValueError)
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.drop_last = drop_last
        self.generator = generator
        if sampler is None and not streamed:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not streamed:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        batched = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if batched else _as_tensor)

    def __iter__(self) -> Iterator[Any]:
        kind = _MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter
        return kind(self, self._all_batches())

    def _all_batches(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            seed = _seed(self.generator)
            return self._by_workers(seed) if self.num_workers else self._stream(self.dataset)
        chosen = iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        _seed(self.generator)  # PyTorch's base seed for workers, drawn before the first batch is asked for
        return self._batches(chosen)

    def _by_workers(self, seed: int) -> Iterator[Any]:
        """Go over a stream as that many workers do, each over a copy of the dataset: a batch of each in turn."""
        waiting = deque(self._work(WorkerInfo(number, self.num_workers, seed + number, deepcopy(self.dataset)))
                        for number in range(self.num_workers))
        while waiting:
            worker = waiting.popleft()
            for batch in islice(worker, 1):
                yield batch
                waiting.append(worker)

    def _work(self, info: WorkerInfo) -> Iterator[Any]:
        generator = streams.Generator().manual_seed(info.seed)
        with _as_worker(info, generator):
            if self.worker_init_fn is not None:
                self.worker_init_fn(info.id)
            batches = self._stream(info.dataset)
        nothing = object()
        while True:
            with _as_worker(info, generator):
                batch = next(batches, nothing)
            if batch is nothing:
                return
            yield batch

    def _stream(self, dataset: Any) -> Iterator[Any]:
        rows = iter(dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, rows)
            return
        while batch := list(islice(rows, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield self.collate_fn(batch)

    def _batches(self, chosen: Iterator[Any]) -> Iterator[Any]:
        for one in chosen:
            rows = self.dataset[one] if self.batch_sampler is None else [self.dataset[index] for index in one]
            yield self.collate_fn(rows)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            size, step = len(self.dataset), self.batch_size or 1  # type: ignore[arg-type]  # where it has a length
            return size // step if self.drop_last else -(-size // step)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


def _as_tensor(value: object) -> object:
    """Return one sample as it is, its arrays as tensors."""
    if isinstance(value, (tuple, list)):
        return [_as_tensor(one) for one in value]
    if isinstance(value, dict):
        return {key: _as_tensor(one) for key, one in value.items()}
    return make(value) if isinstance(value, np.ndarray) else value
