"""The parts of Python's library that scripts may import, each an explicit list of names."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any

from gradsh.api.namespace import as_module
from gradsh.compiler import runtime_names
from gradsh.runtime.allowlist import offer
from gradsh.runtime.bounded_operators import MAX_BITS, times
from gradsh.runtime.host import RuntimeHost
from gradsh.text.fault import fail


class Library:
    """A namespace for scripts: `get(name)`, `names()`, and nothing else."""

    __slots__ = ("_load", "_members", "name")

    def __init__(self, name: str, load: Callable[[], Mapping[str, object]]) -> None:
        self.name = name
        self._load = load
        self._members: Mapping[str, Any] | None = None

    def members(self) -> Mapping[str, Any]:
        """Return what it offers, by name."""
        if self._members is None:
            self._members = self._load()
            for name, one in self._members.items():
                while isinstance(one, FunctionType):  # Python's errors say its name, or that of the one it wraps
                    one.__qualname__ = name if "<locals>" in one.__qualname__ else one.__qualname__
                    one = one.__dict__.get("__wrapped__")
        return self._members

    def get(self, name: str) -> Any:
        """Return what the name stands for. Raises AttributeError."""
        try:
            return self.members()[name]
        except KeyError:
            raise fail("attribute", self._missing(name), AttributeError, owner=self, name=name) from None

    def _missing(self, name: str) -> str:
        """Return Python's sentence for a name that is not there: numpy says what took the place of a removed one."""
        own = sys.modules.get(self.name)
        try:
            getattr(own, name)
        except AttributeError as error:
            if own is not None:
                return str(error)
        return f"module '{self.name}' has no attribute '{name}'"

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(name)
        return self.get(name)

    def names(self) -> list[str]:
        """Return the names it offers."""
        return list(self.members())

    def __repr__(self) -> str:
        return f"<module '{self.name}'>"


as_module(Library)


def listed(module: object, names: str) -> dict[str, Any]:
    """Return the members of a module that a list names, as far as this Python has them."""
    return {name: getattr(module, name) for name in names.split() if hasattr(module, name)}


def load_math(machine: RuntimeHost) -> Mapping[str, object]:
    """Return what `math` offers."""
    import math

    def prod(iterable: Any, /, *, start: object = 1) -> object:
        """Multiply; a long product of integers can be stopped, and does not outgrow what one may be."""
        for value in iterable:
            machine.check()
            start = times(start, value)
        return start

    def lcm(*integers: Any) -> int:
        """Return the least common multiple."""
        found = 1
        for value in integers:
            machine.check()
            found = math.lcm(found, value)
            if found.bit_length() > MAX_BITS:
                raise fail("limit", "the integer would be too large", OverflowError)
        return found

    found = listed(
        math,
        "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees dist e erf erfc exp exp2 expm1 fabs floor "
        "fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt ldexp lgamma log log10 log1p log2 modf nan "
        "nextafter pi pow radians remainder sin sinh sqrt tan tanh tau trunc ulp",
    )
    found |= {name: _bounded(getattr(math, name)) for name in ("factorial", "comb", "perm")}
    return found | {"prod": _named(prod), "lcm": _named(lcm)}


def _named(function: Any) -> object:
    """Let a function of ours be called as Python's own is: errors say its qualified name."""
    function.__qualname__ = function.__name__
    return function


def _bounded(function: Callable[..., int]) -> Callable[..., int]:
    """Return an integer function that refuses arguments whose result would fill the memory."""

    def bounded(*args: object) -> int:
        if any(isinstance(value, int) and value > 100_000 for value in args):
            raise fail("limit", "the integer would be too large", OverflowError)
        return function(*args)

    bounded.__name__ = bounded.__qualname__ = function.__name__
    return bounded


def load_copy(_: RuntimeHost) -> Mapping[str, object]:
    """Return what `copy` offers."""
    from gradsh.api import copying

    return listed(copying, "copy deepcopy")


def load_random(_: RuntimeHost) -> Mapping[str, object]:
    """Return what `random` offers."""
    import random

    own = random.Random(0)  # numbers for experiments; two runs agree

    def getrandbits(k: Any, /) -> int:
        """Return an integer of so many random bits."""
        if isinstance(k, int) and k > MAX_BITS:
            raise fail("limit", "the integer would be too large", OverflowError)
        return own.getrandbits(k)

    draws = (
        "seed random uniform randint randrange choice choices sample shuffle gauss normalvariate expovariate betavariate "
        "gammavariate triangular lognormvariate getstate setstate"
    )
    return listed(own, draws) | {"getrandbits": _named(getrandbits), "Random": offer(random.Random, draws)}


def load_time(machine: RuntimeHost) -> Mapping[str, object]:
    """Return what `time` offers."""
    import time

    def sleep(seconds: float) -> None:
        """Wait, in steps short enough for an interrupt or a limit to be heeded."""
        end = time.monotonic() + seconds
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        while (left := end - time.monotonic()) > 0:
            machine.check()
            time.sleep(min(left, 0.05))

    offer(time.struct_time, "tm_year tm_mon tm_mday tm_hour tm_min tm_sec tm_wday tm_yday __getitem__ __len__")
    names = "time perf_counter monotonic process_time thread_time time_ns perf_counter_ns ctime asctime gmtime localtime mktime strftime"
    return listed(time, f"{names} strptime") | {"sleep": sleep}


def load_itertools(machine: RuntimeHost) -> Mapping[str, object]:
    """Return what `itertools` offers."""
    import itertools

    check = machine.check

    def count(start: Any = 0, step: Any = 1) -> Iterator[Any]:
        for value in itertools.count(start, step):
            check()
            yield value

    def cycle(iterable: Any) -> Iterator[Any]:
        for value in itertools.cycle(iterable):
            check()
            yield value

    def repeat(value: object, times: int | None = None) -> Iterator[Any]:
        for one in itertools.repeat(value) if times is None else itertools.repeat(value, times):
            check()
            yield one

    def checked(make: Callable[..., Iterator[object]]) -> Callable[..., Iterator[Any]]:
        """Let a limit or an interrupt end what may go on for ages, whoever consumes it."""

        def made(*args: object, **kwargs: object) -> Iterator[Any]:
            values: Any = ticking(make(*args, **kwargs))
            values.__qualname__ = make.__name__
            return iter(values)

        made.__name__ = made.__qualname__ = make.__name__
        return made

    def ticking(values: Iterator[object]) -> Iterator[Any]:
        for value in values:
            check()
            yield value

    long: tuple[Any, ...] = (
        itertools.accumulate, itertools.combinations, itertools.combinations_with_replacement, itertools.compress,
        itertools.dropwhile, itertools.filterfalse, itertools.groupby, itertools.islice, itertools.pairwise,
        itertools.permutations, itertools.product, itertools.starmap, itertools.takewhile, itertools.zip_longest,
    )
    chain = checked(itertools.chain)
    chain.from_iterable = checked(itertools.chain.from_iterable)  # type: ignore[attr-defined]
    own = {"count": count, "cycle": cycle, "repeat": repeat} | {make.__name__: checked(make) for make in long}
    return own | {"chain": chain, "tee": itertools.tee}


def load_collections(_: RuntimeHost) -> Mapping[str, object]:
    """Return what `collections` offers."""
    import collections

    from gradsh.runtime.hints import ABSTRACT, HINTS, named_tuple

    offer(collections.ChainMap, "get items keys values pop popitem setdefault update clear copy maps parents new_child")
    abstract = Library("collections.abc", lambda: {name: HINTS[name] for name in ABSTRACT.split()})
    return listed(collections, "OrderedDict defaultdict Counter deque ChainMap") | {"namedtuple": named_tuple, "abc": abstract}


def load_functools(machine: RuntimeHost) -> Mapping[str, object]:
    """Return what `functools` offers."""
    import functools

    def reduce(function: Any, iterable: Any, /, *initial: object) -> object:
        """Fold the values; each step can be the last."""

        def ticking() -> Iterator[Any]:
            for value in iterable:
                machine.check()
                yield value

        return functools.reduce(function, ticking(), *initial)

    def update_wrapper(wrapper: object, wrapped: object) -> object:
        """Give a wrapper the wrapped function's name, docstring and attributes."""
        if not isinstance(wrapper, type) and not machine.guard.lets_set(wrapper, "__name__"):
            raise machine.guard.unsettable(wrapper, "__name__")
        own = vars(wrapped) if isinstance(wrapped, FunctionType) else ()
        for name in ("__name__", "__qualname__", "__doc__", *own):
            with suppress(AttributeError, TypeError):
                machine.guard.assign(wrapper, name, machine.guard.read(wrapped, name))
        return wrapper

    def wraps(wrapped: object) -> Callable[[Any], Any]:
        """Return the decorator that does so for one function."""
        return lambda wrapper: update_wrapper(wrapper, wrapped)

    def total_ordering(cls: object) -> object:
        """Give a script's class the comparisons that it lacks."""
        if not isinstance(cls, type) or runtime_names.SCRIPT not in type.__getattribute__(cls, "__dict__"):
            raise TypeError("total_ordering() takes a class that the program defines")
        return functools.total_ordering(cls)

    offer(type(functools.lru_cache(abs).cache_info()), "hits misses maxsize currsize")
    def singledispatch(func: object) -> Dispatched:
        """Return a function of several, of which this is the one for all other classes."""
        return Dispatched(machine, func)

    own = {
        "wraps": wraps, "update_wrapper": update_wrapper, "reduce": _named(reduce), "total_ordering": total_ordering,
        "singledispatch": singledispatch,
    }
    return listed(functools, "partial lru_cache cache cmp_to_key cached_property") | own


class Dispatched:
    """What `singledispatch` makes: a function of several, chosen by the class of the first argument."""

    __module__ = "functools"
    __script_attributes__ = frozenset({"register", "dispatch"})

    def __init__(self, machine: Any, func: object) -> None:
        self._machine = machine
        self._functions: dict[type, Any] = {object: func}

    def register(self, cls: object, func: object = None) -> object:
        """Add a function for a class, which its first annotation may name."""
        if func is None and isinstance(cls, type):
            return lambda function: self.register(cls, function)
        if not isinstance(cls, type):
            cls, func = self._annotated(cls), cls
        self._functions[cls] = func
        return func

    def _annotated(self, func: object) -> type:
        """Return the class that the function's first annotation names. Raises TypeError."""
        text = next(iter(func.__annotations__.values()), "") if isinstance(func, FunctionType) else ""
        first, *rest = text.strip("'\"").split(".")
        found = None
        with suppress(KeyError, AttributeError):
            known = self._machine.program | self._machine.builtins
            found = known[first] if first in known else self._machine.offer.bare(first)
            for name in rest:
                found = self._machine.guard.read(found, name)
        if not isinstance(found, type):
            message = "register() finds no class in the first annotation: write `@NAME.register(some_class)`"
            raise fail("type", message, TypeError)
        return found

    def dispatch(self, cls: type) -> Any:
        """Return the function for a class."""
        return next(self._functions[base] for base in type.__getattribute__(cls, "__mro__") if base in self._functions)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function for the first argument's class."""
        return self.dispatch(type(args[0]))(*args, **kwargs)


def load_typing(_: RuntimeHost) -> Mapping[str, object]:
    """Return what `typing` offers."""
    from gradsh.runtime.hints import BASES, HINTS

    return {**HINTS, **BASES, "TYPE_CHECKING": False}


def load_einops(_: RuntimeHost) -> Mapping[str, Any]:
    """Return what `einops` offers."""
    from gradsh.api.namespace import Namespace, lazily

    layers = Namespace("einops.layers.torch", lazily("gradsh.api.einops_layers", "Rearrange Reduce"))
    names = lazily("gradsh.api.einops", "rearrange reduce repeat einsum pack unpack EinopsError")
    whole = Namespace("einops", {**names, "layers": Namespace("einops.layers", {"torch": layers})})
    return {name: whole.get(name) for name in (*names, "layers")}


def load_functorch(_: RuntimeHost) -> Mapping[str, Any]:
    """Return what `functorch`, the older home of `torch.func`, offers."""
    from gradsh.api.namespace import Namespace, lazily
    from gradsh.api.torch import NAMESPACES

    shared = ("grad", "grad_and_value", "vmap", "jacrev", "vjp", "jvp", "jacfwd", "hessian")
    own = lazily("gradsh.api.functorch", "make_functional make_functional_with_buffers combine_state_for_ensemble")
    older = Namespace("functorch", own)
    return {**{name: NAMESPACES["torch.func"].get(name) for name in shared}, **{name: older.get(name) for name in own}}
