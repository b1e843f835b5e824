"""Bases of classes (contextlib, list, dict), fields that only `__post_init__` gets, commands of a command line."""

from dataclasses import dataclass, field, InitVar, KW_ONLY, fields, asdict
from contextlib import ContextDecorator, contextmanager, AbstractContextManager
from enum import Enum, EnumMeta
import argparse

@dataclass
class Layer:
    size: int
    scale: InitVar[float] = 2.0
    _: KW_ONLY
    name: str = "layer"
    total: float = field(init=False, default=0.0)
    def __post_init__(self, scale):
        self.total = self.size * scale

print(Layer(3), Layer(3, 4.0, name="b"), [f.name for f in fields(Layer)], asdict(Layer(2)))
try:
    Layer(1, 2.0, "c")
except TypeError as e:
    print("TypeError")

class Timed(ContextDecorator):
    def __init__(self, name): self.name = name
    def __enter__(self):
        print("begin", self.name); return self
    def __exit__(self, *exc):
        print("end", self.name); return False

@Timed("work")
def work(x):
    """doc"""
    return x + 1
print(work(3), work.__name__)
with Timed("block"): print("inside")

class Managed(AbstractContextManager):
    def __exit__(self, *a): print("left"); return None
with Managed() as m: print(type(m).__name__)

class Colour(Enum):
    RED = 1
print(isinstance(Colour, EnumMeta))

class Trace(list):
    def __init__(self, items=(), name="trace"):
        super().__init__(items)
        self.name = name
    def total(self): return sum(self)
    def append(self, value):
        super().append(value * 2)
    def __delitem__(self, place):
        print("bye", place); super().__delitem__(place)
t = Trace([1, 2, 3], name="t")
t.append(4); del t[0]
print(t, len(t), t.total(), t.name, t[0], t[1:], isinstance(t, list), t == [2, 3, 8], t * 2, 2 * t, sorted(t), t + [1])
t *= 2
print(t, type(t).__name__, list(reversed(t)), 3 in t, t.index(3), [x for x in t])
class Config(dict):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
    def __delitem__(self, key):
        super().__delitem__(key)
c = Config(a=1, b=2); del c["a"]; print(c)

parser = argparse.ArgumentParser(prog="tool")
sub = parser.add_subparsers(title="commands", dest="command", help="what to do")
train = sub.add_parser("train", help="train it", aliases=["t"])
train.add_argument("--lr", type=float, default=0.1)
train.set_defaults(func=lambda a: print("training", a.lr))
ev = sub.add_parser("eval")
ev.add_argument("file")
args = parser.parse_args(["train", "--lr", "0.5"]); args.func(args); print(args.command)
print(parser.parse_args(["eval", "x.pt"]).file, parser.parse_args([]).command)
print(train.format_usage(), parser.format_help())
try: parser.parse_args(["nope"])
except SystemExit as e: print(e.code)
