from __future__ import annotations
from abc import ABC, abstractmethod
from enum import Enum, auto
from typing import NamedTuple, Protocol, Generic, TypeVar, TypedDict, Union, Callable, Iterator, Literal, runtime_checkable
import torch
from torch import nn, Tensor

T = TypeVar("T")


class Act(Enum):
    RELU = auto()
    TANH = auto()
    GELU = "gelu"


class Batch(NamedTuple):
    x: Tensor
    y: Tensor
    weight: float = 1.0

    def size(self) -> int:
        return self.x.shape[0]


class Metrics(TypedDict, total=False):
    loss: float
    acc: float


class Scorer(Protocol):
    def __call__(self, out: Tensor, y: Tensor) -> float: ...


class Registry(Generic[T]):
    def __init__(self) -> None:
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        def deco(item: T) -> T:
            self._items[name] = item
            return item
        return deco

    def __getitem__(self, name: str) -> T:
        return self._items[name]

    def __contains__(self, name: str) -> bool:
        return name in self._items


models: Registry[type[nn.Module]] = Registry()


def activation(a: Act) -> nn.Module:
    match a:
        case Act.RELU:
            return nn.ReLU()
        case Act.TANH:
            return nn.Tanh()
        case _:
            return nn.GELU()


class Base(ABC, nn.Module):
    @abstractmethod
    def head(self, h: Tensor) -> Tensor:
        ...

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)


@models.register("mlp")
class MLP(Base):
    def __init__(self, act: Act) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), activation(act), nn.Linear(8, 2))

    def head(self, h: Tensor) -> Tensor:
        return self.body(h)


def build_opt(cfg: dict, params) -> torch.optim.Optimizer:
    match cfg:
        case {"name": "sgd", "lr": lr, **rest}:
            return torch.optim.SGD(params, lr=lr, **rest)
        case {"name": "adam" | "adamw", "lr": float(lr)} if lr > 0:
            return torch.optim.Adam(params, lr=lr)
        case _:
            raise ValueError(f"unknown optimizer {cfg}")


def accuracy(out: Tensor, y: Tensor) -> float:
    return (out.argmax(1) == y).float().mean().item()


def fit(model: nn.Module, batches: Iterator[Batch], opt, score: Scorer, mode: Literal["train", "eval"] = "train") -> Metrics:
    m: Metrics = {}
    for b in batches:
        out = model(b.x)
        loss = b.weight * nn.functional.cross_entropy(out, b.y)
        opt.zero_grad(); loss.backward(); opt.step()
        m = Metrics(loss=loss.item(), acc=score(out, b.y))
    return m


torch.manual_seed(0)
for cfg in ({"name": "sgd", "lr": 0.1, "momentum": 0.9}, {"name": "adamw", "lr": 0.01}):
    for act in Act:
        model = models["mlp"](act)
        batches = (Batch(torch.randn(5, 3), torch.randint(0, 2, (5,))) for _ in range(3))
        res = fit(model, batches, build_opt(cfg, model.parameters()), accuracy)
        print(act.name, cfg["name"], {k: round(v, 4) for k, v in res.items()})
try:
    Base()
except TypeError as e:
    print("TypeError:", str(e)[:40])
try:
    build_opt({"name": "lion"}, [])
except ValueError as e:
    print(e)
