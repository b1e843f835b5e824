"""No script reaches Python's objects behind the language's own: every known way out of a Python sandbox is tried."""

import pytest

PREPARED = """
f = lambda: 1
class A:
    def m(self): return 1
a = A()
def g():
    yield 1
import copy, collections, functools, itertools, math, random, time, typing
import numpy as np
import torch
class Keep:
    def __enter__(self): return self
    def __exit__(self, kind, value, trace):
        self.trace = trace
        return True
with Keep() as kept:
    1 / 0
"""

ESCAPES = """
().__class__.__bases__[0].__subclasses__()
().__class__.__base__
"".__class__.__mro__
"".__class__.__dict__
f.__globals__
f.__code__
f.__closure__
f.__builtins__
f.__defaults__
f.__get__
f.__call__
f.__reduce__
a.m.__func__
a.m.__self__
a.m.__wrapped__
A.__dict__
A.m.__globals__
A.__subclasses__
A.__mro__
A.mro
A.__bases__
A.__init_subclass__
a.__init__.__globals__
a.__reduce_ex__
a.__getattribute__
a.__setattr__("__class__", f)
a.__init_subclass__
a.__dir__
a.__weakref__
g().gi_frame
g().gi_code
g().gi_yieldfrom
(x for x in [1]).gi_frame.f_back
(lambda: (yield))().gi_frame
print.__self__
print.__globals__
print.__closure__
getattr.__closure__
len.__self__
sum.__globals__
"{0.m.__globals__}".format(a)
"{a.__globals__}".format(a=f)
"{0[a].__globals__}".format({"a": f})
"{1:{0.__globals__}}".format(f, 1)
"{x.__globals__}".format_map({"x": f})
str.format("{0.__globals__}", f)
str.format_map("{x.__globals__}", {"x": f})
getattr(str, "format")("{0.__globals__}", f)
getattr("{0.__globals__}", "format")(f)
list(map(str.format, ["{0.__globals__}"], [f]))
getattr(f, "__globals__")
getattr(f, "__glo" + "bals__")
setattr(a, "__class__", int)
setattr(A, "__getattr__", f)
setattr(a, "x y", 1)
setattr(a, ".script", 1)
delattr(A, ".script")
type(type(f))
type(f)(1, 2)
type(a.m)(f, 1)
type(g())()
type(kept.trace)(None, None, 0, 1)
type(f).__init__
__builtins__
__import__("os")
__loader__
__spec__
__build_class__
__dict__
exec("1")
eval("1")
compile("1", "", "eval")
globals()
locals()
open("/etc/passwd")
input()
breakpoint()
memoryview([1])
kept.trace.tb_frame
kept.trace.tb_next
np.memmap
np.fromfile
np.fromfile
np.lib.npyio
np.lib.stride_tricks.np
np.lib.stride_tricks.as_strided(a, (9,), (8,))
np.core
np.memmap
np.__dict__
np.ndarray((2,), int)
np.array([1]).tofile("x")
np.array([1]).dump("x")
np.array([1]).ctypes
np.array([1]).base
np.array([1]).data
np.array([1]).__array_interface__
np.array([1]).__array_struct__
np.array([1]).__reduce__
np.array([1]).view
np.array([1]).tofile
np.random.seed.__self__
np.random.bytes
np.sum.__wrapped__
np.sum.__globals__
np.float32.__subclasses__
np.float32.mro
collections._sys
collections.namedtuple.__globals__
collections.namedtuple("T", "a b").__new__
collections.namedtuple("T", "a b")._make.__func__
collections.OrderedDict.__init__
functools.wraps(f)(lambda: 3).__wrapped__
functools.update_wrapper(len, len)
functools.singledispatchmethod
functools.partial(f).__setstate__
functools.partial.__new__
functools.lru_cache(f).__wrapped__
functools.lru_cache()(f).cache_parameters
random._os
random.random.__self__
random.SystemRandom
time.__loader__
time.sleep.__globals__
copy.copyreg
copy.deepcopy(f).__globals__
copy.copy(g)().gi_frame
itertools.count.__globals__
itertools.count().gi_frame
math.__loader__
math.factorial.__closure__
typing.List.__origin__
typing.get_type_hints
typing.sys
torch.__dict__
torch.get
torch.names
torch._table
torch.nn._table
torch.Tensor.__dict__
torch.Tensor.array
torch.Tensor.counter
torch.Tensor.__subclasses__
torch.Tensor.__new__
torch.no_grad.__init__.__globals__
torch.no_grad().__enter__.__func__
list.__getitem__.__objclass__
[].__reduce__
{}.__class__.fromkeys.__self__
dict.get.__get__
int.__subclasses__
object.__subclasses__
object.__reduce__
property(f).fget
super(A, a).__thisclass__
super(A, a).__self__
super(A, a).__getattribute__
super(A, a).__reduce__
Exception.__subclasses__
ValueError("x").__traceback__
ValueError("x").with_traceback
ValueError("x").__setstate__
ValueError("x").fault
ValueError("x").__dict__
BaseException.__traceback__
print(1, file=a)
f"{f.__globals__}"
f"{1:{f.__globals__}}"
del f.__globals__
a.__class__ = Keep
A.__bases__ = (Keep,)
A.__getattribute__ = f
f.__code__ = 3
print.x = 3
torch.relu = f
math.pi = 3
class M(type): pass
class M(type(f)): pass
class M(object, metaclass=type): pass
class M(*[A]): pass
class M(str): pass
class M(super): pass
class M(property): pass
class M(BaseException): pass
class M: __getattr__ = f
class M: __array_interface__ = {}
class M: __class__ = 3
class M: __del__ = f
class M: __new__ = f
class M: __reduce__ = f
class M: __init_subclass__ = f
class M: __set_name__ = f
class M: __mro_entries__ = f
class M: __instancecheck__ = f
class M: __builtins__ = {}
import sys; sys.modules
import builtins; builtins.open
import subprocess; subprocess.run(["true"])
import gc; gc.get_referrers(1)
import inspect; inspect.currentframe()
import ctypes; ctypes.CDLL(None)
import importlib; importlib.import_module("os")
import pickle; pickle.loads("")
from torch import os
from numpy.lib.npyio import DataSource; DataSource()
from collections import _sys
from . import x
""".strip().split("\n")


@pytest.mark.parametrize("line", ESCAPES)
def test_is_refused(scripts, line):
    script = scripts().run(PREPARED)
    assert not script.failures
    before = set(script.machine.program)
    script.run(line)
    if line == "type(type(f))":
        assert script.values == ["<class 'type'>"]
        return
    assert script.failures, (line, script.values)
    assert script.failures[-1].problem.kind in {"attribute", "name", "type", "syntax", "io"}
    assert script.failures[-1].problem.labels
    assert script.machine.program["__builtins__"] is script.machine.builtins
    assert set(script.machine.program) - before <= {"os", "sys", "builtins", "subprocess", "gc", "inspect", "ctypes",
                                                    "importlib", "pickle", "system"}


@pytest.mark.parametrize("line", [
    "__builtins__ = {}", "global __builtins__; __builtins__ = {}", "def __builtins__(): pass", "import math as __builtins__",
    "for __builtins__ in [1]: pass", "class __builtins__: pass", "with Keep() as __builtins__: pass", "(__builtins__ := 3)",
    "del __builtins__", "__name__ = 'other'", "__build_class__ = f", "__import__ = f",
])
def test_the_builtins_of_a_program_cannot_be_replaced(scripts, line):
    script = scripts().run(PREPARED).run(line).run("class B: pass\nprint(len([1]))")
    assert script.machine.program["__builtins__"] is script.machine.builtins
    assert script.printed[-1] == "1\n"


def test_a_string_that_lies_about_equality_is_refused(script):
    script.run(
        "class Liar(Exception):\n    def __eq__(self, other): return True\n    def __hash__(self): return hash('upper')\n"
        "getattr('x', Liar())"
    )
    assert script.failure.problem.kind == "type"


def test_a_key_that_changes_its_hash_makes_no_method(script):
    script.run(
        "class Key:\n    def __init__(self): self.now = '__del__'\n    def __hash__(self): return hash(self.now)\n"
        "    def __eq__(self, other): return True\n"
        "key = Key()\nmethods = {key: lambda self: 1}\nkey.now = '__init__'\nC = type('C', (), methods)"
    )
    assert script.failure.problem.kind == "type"


def test_no_object_that_a_script_can_name_offers_a_way_out(script):
    """Walk everything reachable by offered attributes: no module, frame, code object or dictionary of globals."""
    from types import CodeType, FrameType, ModuleType, TracebackType

    script.run(PREPARED)
    guard, program = script.machine.guard, script.machine.program
    stack = [value for name, value in {**program, **script.machine.builtins}.items() if name[0] not in "._"]
    seen = set()
    forbidden = (ModuleType, FrameType, CodeType, TracebackType)
    while stack:
        value = stack.pop()
        named = isinstance(value, (type, *guard.namespaces))
        key = id(value) if named else type(value)  # one value of a type tells what all offer
        if key in seen or value is kept_trace(program):
            continue
        seen.add(key)
        assert not isinstance(value, forbidden), value
        assert value is not program
        assert value is not script.machine.builtins
        for name in guard.names(value):
            try:
                stack.append(guard.read(value, name))
            except Exception:  # noqa: BLE001  # a property may refuse; what matters is what it gives
                continue


def kept_trace(program):
    return program["kept"].trace


def test_what_is_offered_works(script):
    script.run(PREPARED)
    script.run(
        "class P:\n"
        "    def __init__(self): self._x = 1; self.__y = 2\n"
        "    @property\n    def x(self): return self._x + self.__y\n"
        "    @x.setter\n    def x(self, v): self._x = v\n"
        "    @staticmethod\n    def s(v): return v * 2\n"
        "    @classmethod\n    def c(cls): return cls.__name__\n"
        "p = P(); p.x = 5\n"
        "p.x, P.s(3), p.c(), p.__class__.__name__, type(p).__name__, isinstance(p, P), hasattr(p, 'nope')\n"
        "'{0.x} {1[a]} {0._x:>4}'.format(p, {'a': 1})\n"
        "'{:>{w}}|{!r}'.format(1, 'a', w=3)\n"
        "f.count = 2; f.count += 1; f.count\n"
        "getattr(p, 'nope', 7)\n"
        "collections.Counter('aab').most_common(1), np.array([1, 2]).sum(), math.sqrt(4)\n"
        "T = collections.namedtuple('T', 'a b'); T(1, b=2).b, T(1, 2)\n"
        "@functools.wraps(f)\ndef h(): pass\nh.__name__\n"
        "e = ValueError('a', 1); e.args\n"
    )
    assert [failed.problem.message for failed in script.failures] == []
    assert script.values == [
        "(7, 6, 'P', 'P', 'P', True, False)", "'7 1    5'", '"  1|\'a\'"', "3", "7",
        "([('a', 2)], np.int64(3), 2.0)", "(2, T(a=1, b=2))", "'<lambda>'", "('a', 1)",
    ]
