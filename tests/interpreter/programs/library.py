"""Python's library as training scripts use it."""

import abc
import argparse
import contextlib
import datetime
import heapq
import io
import json
import logging
import operator
import os
import re
import statistics
import string
import sys
import textwrap
from collections import Counter, defaultdict, deque
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum, Flag, IntEnum
from pathlib import Path
from types import SimpleNamespace

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
logger = logging.getLogger("train")


class Mode(Enum):
    TRAIN = "train"
    EVAL = "eval"

    @property
    def short(self):
        return self.value[0]


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Part(Flag):
    ENCODER = 1
    DECODER = 2


class Counting:
    calls = 0

    def count(self):
        self.calls += 1
        return self.calls


class Trainer(abc.ABC):
    @abc.abstractmethod
    def fit(self, steps): ...

    def run(self):
        return self.fit(3)


class Loud(Counting, Trainer):
    def fit(self, steps):
        return [self.count() for _ in range(steps)]


@dataclass
class Config:
    dim: int
    lr: float = 0.1
    names: list = field(default_factory=list)
    hidden: int = field(default=3, repr=False)

    def __post_init__(self):
        self.double = self.dim * 2


@dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 0


@dataclass
class Nested(Config):
    at: Point = Point(1)


@contextlib.contextmanager
def section(name):
    print("begin", name)
    try:
        yield name.upper()
    finally:
        print("end", name)


def parse(words):
    parser = argparse.ArgumentParser(prog="train", description="A program.")
    parser.add_argument("--lr", type=float, default=0.1, help="learning rate (default: %(default)s)")
    parser.add_argument("--layers", type=int, nargs="+", default=[1])
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--mode", choices=["a", "b"], default="a")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--cpu", action="store_const", const="cpu", dest="device", default="cpu")
    return parser, parser.parse_args(words)


print(Mode.TRAIN, Mode.TRAIN.value, Mode("eval"), [m.name for m in Mode], len(Mode), Mode["EVAL"].short, repr(Mode.EVAL))
print(Level.LOW + 1, Level.HIGH > Level.LOW, Part.ENCODER | Part.DECODER, isinstance(Mode.TRAIN, Mode))
print(Loud().run(), isinstance(Loud(), Trainer))
try:
    Trainer()
except TypeError as error:
    print(error)
config = Config(4, names=["a"])
print(config, config.double, asdict(config), [f.name for f in fields(config)], config == Config(4, names=["a"]))
print(replace(config, dim=5), Nested(1, at=Point(2)), Point(1, 2) < Point(2), {Point(1): "here"}[Point(1)])
for wrong in (lambda: Config(), lambda: Config(1, dim=2), lambda: Config(1, 2, 3, 4, 5), lambda: Config(1, no=2)):
    try:
        wrong()
    except TypeError as error:
        print(error)
try:
    Point(1).x = 3
except Exception as error:
    print(type(error).__name__, error)
with section("one") as name, contextlib.suppress(ValueError), contextlib.nullcontext():
    print(name)
    raise ValueError("gone")
parser, args = parse(["--lr", "0.5", "--layers", "2", "3", "-v"])
print(args, args.lr, args.layers, "lr" in args)
print(parser.format_help().startswith("usage: train [-h] [--lr LR]"))
try:
    parse(["--mode", "c"])
except SystemExit as stop:
    print("stopped", stop.code)
bag = SimpleNamespace(a=1, b=[2])
bag.c = 3
print(bag, bag.c)
day = datetime.datetime(2020, 1, 2, 3)
print(day.year, day.strftime("%Y-%m"), (day + datetime.timedelta(days=1)).isoformat())
text = io.StringIO()
print("into memory", 1, file=text, end="!")
print(text.getvalue(), json.dumps({"b": [1, 2.5, None], "a": True}, sort_keys=True), json.loads('{"x": [1]}')["x"])
match = re.match(r"(\w+)-(?P<n>\d+)", "ab-12 cd")
print(match.group(1), match.group("n"), match.span(), re.sub(r"\d", "#", "a1b2"), re.findall("[a-z]", "a1b"))
print(operator.itemgetter(1)([1, 2]), operator.attrgetter("lr")(config), sorted([3, 1], key=operator.neg))
print(statistics.mean([1, 2, 4]), statistics.median([1, 5, 3]), string.ascii_lowercase[:3], string.digits)
print(heapq.nsmallest(2, [3, 1, 2]), Counter("aab").most_common(1), deque([1, 2, 3], maxlen=2), defaultdict(int)["k"])
print(os.path.join("a", "b.txt"), os.path.splitext("m.pt"), os.path.basename("x/y"), textwrap.dedent("  a\n  b"))
path = Path("runs") / "a" / "net.pt"
print(path, path.name, path.stem, path.suffix, path.parent, path.with_suffix(".json"), path.parts, Path("x") == Path("x"))
logger.info("step %d of %s", 1, "many")
logger.debug("unseen")
logging.warning("careful")
_ = sys.stderr.write("to the error stream\n")
print("there too", file=sys.stderr)
_ = sys.stdout.write("written\n")
