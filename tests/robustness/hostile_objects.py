"""Programs whose objects answer Python's protocols with lies, failures, changes and endless calls, handed to everything there is.

Draws as `hostile.py` does, from one object with the methods of `random.Random`.
"""

from functools import lru_cache
from random import Random

from gradsh.api.torch import NAMESPACES
from gradsh.commands import USAGE
from gradsh.compiler.special import SPECIAL_METHODS
from gradsh.engine.graph.tensor import Tensor
from gradsh.session.session import Session
from tests.robustness.hostile import words

IMPORTS = (
    "import abc, argparse, bisect, collections, contextlib, copy, dataclasses, datetime, enum, functools, gc, heapq, io, itertools, "
    "json, logging, math, operator, os, pathlib, pprint, random, re, statistics, string, sys, textwrap, time, traceback, types, "
    "typing, warnings, weakref\nimport numpy, numpy as np\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
)
SUBJECTS = (
    "kept = []\ndata = {'a': 1, 'lr': 0.1}\nx = ones(2, 3, requires_grad=True)\nw = nn.Parameter(ones(3))\ny = (x * w).sum()\n"
    "m = nn.Linear(3, 2)\no = optim.SGD(m.parameters(), lr=0.1)\narr = np.ones(3)\ndef f(*a, **k): return a[0] if a else None\n"
)
PLAIN = 35
"""The first of what is handed that stand anywhere, not only as arguments."""
NUMPY = ("array", "asarray", "ones", "zeros", "arange", "mean", "allclose", "concatenate", "stack", "exp", "random.rand", "float32")


@lru_cache(maxsize=1)
def functions() -> tuple[str, ...]:
    """Return what can be called, as a script writes it: functions and classes of every namespace, methods of tensors and modules."""
    imports = Session().machine.offer.imports
    spaces = {name: space for name, space in NAMESPACES.items() if name != "torch.numpy"}
    spaces |= {name: imports.library(name) for name in imports.known() if name in IMPORTS.replace(",", " ").split()}
    found = [f"{name}.{one}" for name, space in spaces.items() if space is not None for one in space.names()]
    found += [f"x.{one}" for one in dir(Tensor) if one[0] != "_"] + [f"np.{one}" for one in NUMPY]
    found += [f"m.{one}" for one in dir(NAMESPACES["torch.nn"].get("Module")) if one[0] != "_"]
    return tuple(sorted(found))


class HostileObjects:
    """Makes programs out of what a source of random numbers draws."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def program(self) -> tuple[str, ...]:
        """Return a program in parts: a hostile class, an object of it, and statements that use it."""
        made = self.random.choice(("H()", "H()", "H()", "H(1)", "H(x)", "H(h=1)"))
        h = f"try: h = {made}\nexcept BaseException: h = H\n"
        classes = "class H: z = 1\n", "class Other: z = 1\n", self.kind("H")
        return (IMPORTS + SUBJECTS, *classes, h, *(f"{self.statement()}\n" for _ in range(self.random.randint(6, 20))))

    def kind(self, name: str) -> str:
        """Return the definition of a class."""
        methods = [self.method() for _ in range(self.random.randint(1, 6))]
        made = f"class {name}({self.random.choice(words()['BASES'])}):\n    z = 1\n" + "".join(methods)
        return f"@dataclasses.dataclass\n{made}" if self.random.random() < 0.05 else made

    def method(self) -> str:
        """Return a method, most often a special one, that does nothing good."""
        random = self.random
        name = random.choice(special()) if random.random() < 0.85 else random.choice(words()["OTHER METHODS"])
        if name in {"__getattr__", "__del__", "__setattr__"} and random.random() < 0.9:
            return "    pass\n"  # the language refuses the whole program
        decorator = random.choice(("", "", "", "", "", "@staticmethod\n    ", "@property\n    ", "@functools.lru_cache\n    "))
        if decorator.startswith("@static"):
            return f"    {decorator}def {name}(self=1, *a, **k):\n        {random.choice(words()['BODIES'])}\n"
        return f"    {decorator}def {name}(self, *a, **k):\n        {random.choice(words()['BODIES'])}\n"

    def statement(self) -> str:
        """Return a statement with the object in it."""
        kind = self.random.randrange(4)
        if kind == 0:
            return self.filled(self.random.choice(words()["USES"]))
        if kind == 1:
            option = f" --{self.random.choice(words()['OPTIONS'])}" if self.random.random() < 0.2 else ""
            return f"{self.random.choice(tuple(USAGE))} {self.filled('{e}')}{option}"
        called = f"{self.random.choice(functions())}({self.arguments()})"
        return self.random.choice((called, called, f"h = {called}", f"y = {called}", f"{called}.sum().backward()"))

    def arguments(self) -> str:
        """Return arguments of a call."""
        return ", ".join(sorted((self.random.choice(words()["HANDED"]) for _ in range(self.random.randint(0, 4))), key=_place))

    def filled(self, text: str) -> str:
        """Return a statement's pattern with expressions in its places."""
        parts = text.replace("{{", "{").replace("}}", "}").split("{e}")
        return "".join(part + self.random.choice(words()["HANDED"][:PLAIN]) for part in parts[:-1]) + parts[-1]


@lru_cache(maxsize=1)
def special() -> tuple[str, ...]:
    return tuple(sorted(SPECIAL_METHODS))


def _place(argument: str) -> int:
    return 2 if argument.startswith("**") else 1 if "=" in argument and argument[0].isalpha() else 0
