"""Classes with the bases of `typing`, abstract classes by metaclass, and hints for everything."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypedDict, TypeVar, cast, overload, runtime_checkable

T = TypeVar("T")


class Batch(NamedTuple):
    x: list[int]
    y: list[int]
    weight: float = 1.0

    def size(self) -> int:
        return len(self.x)


class Metrics(TypedDict, total=False):
    loss: float
    steps: int


class Scorer(Protocol):
    def __call__(self, out: int) -> float: ...


class Registry(Generic[T]):
    def __init__(self) -> None:
        self.items: dict[str, T] = {}

    def add(self, name: str, item: T) -> T:
        self.items[name] = item
        return item


class Base(metaclass=ABCMeta):
    @abstractmethod
    def run(self) -> int: ...


class Concrete(Base):
    def run(self) -> int:
        return 3


batch = Batch([1, 2], [3, 4])
x, y, weight = batch
print(batch, batch.size(), weight, batch._replace(weight=0.5), Batch._fields, isinstance(batch, tuple))
metrics: Metrics = Metrics(loss=0.5)
metrics["steps"] = 3
print(metrics, isinstance(metrics, dict))
registry: Registry[int] = Registry[int]()
print(registry.add("a", 1), registry.items, Concrete().run())
try:
    Base()
except TypeError as error:
    print(str(error).partition(" with")[0])
print(isinstance([1], Iterable), isinstance({}, Mapping), isinstance(3, Iterable), cast(int, "3"))
