"""Programs whose objects answer Python's protocols with lies, failures, changes and endless calls, handed to everything there is.

Draws as `hostile.py` does, from one object with the methods of `random.Random`.
"""

from collections.abc import Callable
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
NUMPY = ("array", "asarray", "ones", "zeros", "arange", "mean", "allclose", "concatenate", "stack", "exp", "random.rand", "float32")
BASES = (
    "", "", "", "", "nn.Module", "torch.autograd.Function", "torch.utils.data.Dataset", "torch.Tensor", "dict", "list", "tuple",
    "str", "int", "float", "set", "Exception", "torch.optim.Optimizer", "torch.optim.lr_scheduler.LRScheduler", "enum.Enum",
    "collections.OrderedDict", "typing.NamedTuple", "torch.utils.data.Sampler", "nn.Linear", "abc.ABC", "KeyboardInterrupt",
)
OTHER_METHODS = (
    "__array__", "__array_interface__", "__torch_function__", "__getattr__", "__del__", "__class__", "__setattr__", "__copy__",
    "__deepcopy__", "__reduce__", "__missing__", "__set_name__", "__dict__", "__call__", "forward", "backward", "keys", "items",
    "step", "state_dict", "load_state_dict", "setup_context", "vmap", "numpy", "detach", "shape", "dtype", "grad_fn", "write",
    "read", "flush", "default", "emit", "format", "get_lr", "__getstate__", "__index__", "__length_hint__", "__instancecheck__",
)
BODIES = (
    "return self", "return None", "return -1", "return 0", "return 10**30", "return 2**63", "return float('nan')", "return 1j",
    "return 'x'", "return ''", "return [self]", "return (self, self)", "return {}", "return {self: self}", "return ones(2)",
    "return x", "return y", "return iter([self])", "return iter(self)", "return True", "return False", "return NotImplemented",
    "return lambda *a: self", "return type(self)", "return a[0]", "return a", "return k", "return f", "return m",
    "raise ValueError('lie')", "raise StopIteration", "raise KeyboardInterrupt", "raise IndexError", "raise AttributeError('no')",
    "raise RecursionError", "raise MemoryError", "raise SystemExit", "raise self", "raise TypeError", "raise GeneratorExit",
    "return self == self", "return len(self)", "return hash(self)", "return self()", "return f'{self}'", "return self[a]",
    "return self + self", "return next(self)", "return repr(self)", "return bool(self)", "return copy.deepcopy(self)",
    "kept.append(a)", "kept.clear()", "data.clear()", "data[self] = self", "x.grad = None", "x.data = ones(1)", "x.requires_grad_(False)",
    "m.weight = None", "m._parameters.clear()", "o.param_groups.clear()", "o.state.clear()", "y.backward(retain_graph=True)",
    "w.data.zero_(); return 1", "self.z = self", "self.__class__ = Other", "self.__dict__.clear()", "yield self", "yield from self",
    "with torch.no_grad(): return a[0]", "backward y", "graph y", "raise ValueError(self) from self", "return kept.pop()",
    "while True: pass", "return super().__init__(*a, **k)", "return bytearray(9)", "return memoryview(b'a')", "return slice(self, self)",
    "global x\n        x = self", "del self.z", "setattr(self, 'z', a)", "x.register_hook(self)", "m.register_forward_hook(self)",
)
HANDED = (
    "h", "h", "h", "h", "[h]", "(h,)", "{h: h}", "{'a': h}", "[h, h, 1]", "H", "type(h)", "h.z", "lambda *a: h", "iter([h])", "(h for _ in [1])",
    "x", "y", "w", "m", "o", "arr", "f", "data", "kept", "2", "-1", "0.5", "'a'", "None", "True", "torch.float32", "[1, 2]", "(2, 3)",
    "slice(h, h)", "*[h, h]", "**{'a': h}", "*h", "**h", "dim=h", "dtype=h", "out=h", "size=h", "requires_grad=h", "device=h", "generator=h",
    "key=h", "default=h", "f'{h}'", "'{0}'", "'{0.z}'", "range(3)", "h if h else 1", "functools.partial(h)", "np.ones(3)", "Exception(h)",
)  # fmt: skip
STATEMENTS = (
    "h + {e}", "{e} + h", "h @ x", "x * h", "h[{e}]", "x[h]", "x[h] = h", "h[{e}] = {e}", "{e} in h", "h in {e}", "h == {e}", "{e} < h", "not h", "-h",
    "x += h", "h += x", "f'{h}'", "f'{x:{h}}'", "'{}'.format(h)", "'%s' % h", "for i in h: kept.append(i)", "with h as c: pass", "a, *b = h", "print(h)",
    "x.data = h", "x.grad = h", "m.weight = h", "m.z = h", "h.z = {e}", "h.weight", "del h.z", "sorted([h, h])", "{{h, h}}", "[*h]", "dict(h)",
    "{e} if h else {e}", "assert h, h", "raise h", "try:\n    raise h\nexcept h: pass", "@h\ndef g(): pass", "class Sub(H): pass", "lambda: h",
    "h()", "h(x).backward()", "H.apply(x)", "H.apply(x).sum().backward()", "x.register_hook(h)", "m.register_forward_hook(h)",
    "o.param_groups.append(h)", "o.step(h)", "m.load_state_dict(h)", "m.load_state_dict({{'weight': h}})", "o.load_state_dict(h)",
    "o.load_state_dict({{'state': h, 'param_groups': [h]}})", "torch.optim.lr_scheduler.LambdaLR(o, h).step()", "m(h)", "m.apply(h)",
    "torch.utils.data.DataLoader(h)", "for b in torch.utils.data.DataLoader(h, batch_size=2): print(b)", "x.backward(h)", "y.backward(h)",
    "torch.autograd.grad(y, h)", "torch.autograd.gradcheck(h, x)", "torch.func.vmap(h)(x)", "torch.func.grad(h)(w)", "copy.deepcopy(h)",
    "copy.copy(h)", "torch.utils.checkpoint.checkpoint(h, x)", "nn.Sequential(h)", "nn.ModuleList([h])", "nn.ParameterDict({{'a': h}})",
    "json.dumps(h, default=h)", "json.loads('[1]', object_hook=h)", "re.sub('a', h, 'aa')", "functools.reduce(h, [1, 2])",
    "functools.singledispatch(h)", "weakref.ref(h)", "weakref.finalize(h, h)", "logging.warning(h)", "argparse.ArgumentParser(h)",
    "operator.attrgetter(h)", "operator.itemgetter(h)(h)", "dataclasses.make_dataclass('T', h)", "enum.Enum('E', h)",
    "collections.namedtuple('T', h)", "contextlib.ExitStack().enter_context(h)", "string.Template('$a').substitute(h)",
)


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
        return (IMPORTS + SUBJECTS, "class H: z = 1\n", "class Other: z = 1\n", self.kind("H"), h, *(f"{self.statement()}\n" for _ in range(self.random.randint(6, 20))))

    def kind(self, name: str) -> str:
        """Return the definition of a class."""
        methods = [self.method() for _ in range(self.random.randint(1, 6))]
        made = f"class {name}({self.random.choice(BASES)}):\n    z = 1\n" + "".join(methods)
        return f"@dataclasses.dataclass\n{made}" if self.random.random() < 0.05 else made

    def method(self) -> str:
        """Return a method, most often a special one, that does nothing good."""
        random = self.random
        name = random.choice(special()) if random.random() < 0.85 else random.choice(OTHER_METHODS)
        if name in {"__getattr__", "__del__", "__setattr__"} and random.random() < 0.9:
            return "    pass\n"  # the language refuses the whole program
        decorator = random.choice(("", "", "", "", "", "@staticmethod\n    ", "@property\n    ", "@functools.lru_cache\n    "))
        if decorator.startswith("@static"):
            return f"    {decorator}def {name}(self=1, *a, **k):\n        {random.choice(BODIES)}\n"
        return f"    {decorator}def {name}(self, *a, **k):\n        {random.choice(BODIES)}\n"

    def statement(self) -> str:
        """Return a statement with the object in it."""
        kind = self.random.randrange(4)
        if kind == 0:
            return self.filled(self.random.choice(STATEMENTS))
        if kind == 1:
            option = f" --{self.random.choice(words()['OPTIONS'])}" if self.random.random() < 0.2 else ""
            return f"{self.random.choice(tuple(USAGE))} {self.filled('{e}')}{option}"
        called = f"{self.random.choice(functions())}({self.arguments()})"
        return self.random.choice((called, called, f"h = {called}", f"y = {called}", f"{called}.sum().backward()"))

    def arguments(self) -> str:
        """Return arguments of a call."""
        return ", ".join(sorted((self.random.choice(HANDED) for _ in range(self.random.randint(0, 4))), key=_place))

    def filled(self, text: str) -> str:
        """Return a statement's pattern with expressions in its places."""
        parts = text.split("{e}")
        return "".join(part + self.random.choice(HANDED[:35]) for part in parts[:-1]).replace("{{", "{").replace("}}", "}") + parts[-1].replace(
            "{{", "{"
        ).replace("}}", "}")


@lru_cache(maxsize=1)
def special() -> tuple[str, ...]:
    return tuple(sorted(SPECIAL_METHODS))


def _place(argument: str) -> int:
    return 2 if argument.startswith("**") else 1 if "=" in argument and argument[0].isalpha() else 0
