"""Python's builtins as the language has them: most are Python's own, some are guarded, the rest say what to do instead."""

from collections.abc import Callable, Iterator
from itertools import count
from operator import index
from types import GeneratorType, MethodType
from typing import Any, NoReturn, TypeVar

from gradsh.compiler.expressions import identifier
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.schema.python_functions import is_python_method
from gradsh.runtime.bounded_operators import modular_power, power
from gradsh.runtime.hints import TypeHint
from gradsh.runtime.host import RuntimeHost
from gradsh.runtime.modules import OR_TRACE
from gradsh.runtime.pytorch_names import tell_absent
from gradsh.runtime.ranges import LongRange, RangeBuiltin
from gradsh.runtime.session_files import open as open_file
from gradsh.runtime.type_proxies import BytesKind, TypeProxy
from gradsh.runtime.unions import Alternative, Either
from gradsh.text.fault import fail

_SAME = (
    "abs bool callable chr complex dict divmod enumerate filter float format frozenset hash id int isinstance iter len list map next "
    "object ord bin hex oct ascii property repr reversed set slice staticmethod classmethod str super tuple zip"
)
_EXCEPTIONS = (
    "ArithmeticError AssertionError AttributeError BaseException BufferError EOFError Exception FloatingPointError "
    "GeneratorExit ImportError IndexError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError "
    "NotImplementedError OSError OverflowError RecursionError RuntimeError StopIteration SyntaxError SystemExit TypeError "
    "UnboundLocalError UnicodeError ValueError ZeroDivisionError Warning UserWarning DeprecationWarning FileNotFoundError "
    "FileExistsError IsADirectoryError NotADirectoryError IOError PermissionError TimeoutError RuntimeWarning FutureWarning"
)
REFUSED = {
    "exec": "write the statements themselves; `load FILE` runs a script",
    "eval": "write the expression itself; for text that holds a number use `float(text)`",
    "compile": "write the statements themselves",
    "input": "a program reads no input here: write the value in place of the call",
    "__import__": "write `import NAME` at the top",
    "globals": "put what you look up into a dictionary, as in `{'Net': Net}[name]`; the command `vars` lists the variables",
    "locals": "the command `vars` lists the variables",
    "help": "leave it out, or ask at the prompt: the command `help NAME` describes it",
    "breakpoint": "put the commands `graph`, `buffers` or `watch` where you want to look",
    "memoryview": "index the tensor or the list itself",
}
"""Builtins that the language does not have -> the way to do it here."""


class Refused:
    """Stands for a builtin that the language does not have; calling it names the way to do it here."""

    __slots__ = ("_name",)
    __script_attributes__ = frozenset({"__name__"})

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def __name__(self) -> str:
        return self._name

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Raise NameError."""
        way = f"{REFUSED[self._name]}, {OR_TRACE}"
        raise fail("name", f"`{self._name}` is not part of gradsh: {way}", NameError, name=self._name, way=way)

    def __repr__(self) -> str:
        return f"<{self._name}, which gradsh does not have>"


class Input(Refused):
    """`input`: it shows its prompt, and the input is at its end."""

    __slots__ = ("_show",)

    def __init__(self, show: Callable[[str], object]) -> None:
        super().__init__("input")
        self._show = show

    def __call__(self, *prompt: object, **_: object) -> NoReturn:
        """Raise EOFError, as Python does where the input is at its end."""
        if prompt:
            self._show(str(prompt[0]))
        raise fail("io", "EOF when reading a line", EOFError, way=f"{REFUSED['input']}, {OR_TRACE}")


def leave(status: object = None, /) -> NoReturn:
    """End the script or the session: `exit`, `quit` and `sys.exit` as Python has them."""
    raise SystemExit(status)


Made = TypeVar("Made", bound=Callable[..., Any])


def make_builtins(machine: RuntimeHost, make_class: Callable[..., type]) -> dict[str, Any]:
    """Return the dictionary of builtins for a program; `make_class` is what `type` with three arguments does."""
    import builtins

    table = {name: getattr(builtins, name) for name in (*_SAME.split(), *_EXCEPTIONS.split())}
    table |= {identifier(name): Refused(name) for name in REFUSED} | {"input": Input(lambda text: machine.on_print(text))}
    table |= _attributes(machine) | _types(machine, make_class) | _reductions(machine)
    table["print"] = _print(machine)
    table["Ellipsis"], table["NotImplemented"] = Ellipsis, NotImplemented
    table["exit"] = table["quit"] = leave
    table["open"] = named(open_file, "open")
    table |= {kind.__name__: _lazy(kind) for kind in (map, filter, zip)}
    table["enumerate"] = _enumerate
    table["range"] = RangeBuiltin(machine.check)
    for kind in (range, LongRange):
        machine.guard.kinds.stand_in(kind, table["range"])
    # Python itself looks these up under their plain names (class statements; C code that imports). A script cannot:
    # in generated code its names of this form are others (`identifier`).
    table["__build_class__"] = builtins.__build_class__
    table["__import__"] = builtins.__import__
    return table


def named(function: Made, name: str = "") -> Made:
    """Give a function of ours the name that a script calls it by: Python's own errors say the qualified one, and the module's."""
    function.__module__ = "builtins"
    function.__name__ = function.__qualname__ = name or function.__name__
    return function


_LAZY = frozenset({map, filter, zip, enumerate})


def _enumerate(iterable: Any, start: int = 0) -> object:
    """Count along; where lazy things stand on each other, by a generator, since Python cannot drop a tower of its own kind."""
    if type(iterable) in _LAZY or type(iterable) is GeneratorType:
        return zip(count(index(start)), stepwise(iterable))
    return enumerate(iterable, start)


named(_enumerate, "enumerate")


def stepwise(values: Any) -> Iterator[Any]:
    """Yield the values, with a frame of Python's between who asks and who answers."""
    yield from values


def _lazy(kind: type) -> Callable[..., object]:
    """Return a lazy builtin that never stands directly on another one: a long tower of them would end the process."""

    def made(*args: object, **kwargs: object) -> Any:
        for one in args:
            if type(one) in _LAZY:
                args = tuple([stepwise(one) if type(one) in _LAZY else one for one in args])
                break
        return kind(*args, **kwargs)

    return named(made, kind.__name__)


def _print(machine: RuntimeHost) -> Callable[..., None]:
    def print(*values: object, sep: str | None = " ", end: str | None = "\n", file: object = None, flush: bool = False) -> None:
        for name, word in (("sep", sep), ("end", end)):
            if word is not None and not isinstance(word, str):
                raise TypeError(f"{name} must be None or a string, not {type(word).__name__}")
        texts = [_method_text(value) if type(value) is MethodType else str(value) for value in values]
        text = (" " if sep is None else str(sep)).join(texts)
        tell = machine.on_print if file is None else machine.guard.read(file, "write")
        tell(text + ("\n" if end is None else str(end)))

    return named(print)


def _method_text(method: MethodType) -> str:
    """Return how a method prints: one of a tensor that PyTorch writes in C does not show the tensor."""
    if isinstance(method.__self__, Tensor) and not is_python_method(method.__name__):
        return f"<built-in method {method.__name__} of {type(method.__self__).__name__} object at {id(method.__self__):#x}>"
    return str(method)


def _attributes(machine: RuntimeHost) -> dict[str, object]:
    guard = machine.guard
    nothing = object()

    def checked(name: object, function: str) -> str:
        if type(name) is not str:
            raise TypeError(f"{function}: attribute name must be string")
        return name

    def getattr(owner: object, name: str, default: object = nothing, /) -> Any:
        try:
            return guard.read(owner, checked(name, "getattr()"))
        except AttributeError:
            if default is nothing:
                raise
            tell_absent(guard.space(owner), name)
            return default

    def hasattr(owner: Any, name: str, /) -> bool:
        try:
            guard.read(owner, checked(name, "hasattr()"))
        except AttributeError:
            tell_absent(guard.space(owner), name)
            return False
        return True

    def setattr(owner: object, name: str, value: object, /) -> None:
        guard.assign(owner, checked(name, "setattr()"), value)

    def delattr(owner: object, name: str, /) -> None:
        guard.delete(owner, checked(name, "delattr()"))

    def vars(owner: object, /) -> Any:
        if isinstance(owner, guard.namespaces):
            raise TypeError("vars() argument must have __dict__ attribute")
        try:
            return guard.read(owner, "__dict__")
        except AttributeError:
            raise TypeError("vars() argument must have __dict__ attribute") from None

    def dir(owner: object, /) -> list[str]:
        names: list[str] = guard.all_names(owner)
        return [name for name in names if name != "saved"] if isinstance(owner, Node) else names  # PyTorch's nodes have no such name

    return {one.__name__: named(one) for one in (getattr, hasattr, setattr, delattr, vars, dir)}


def _types(machine: RuntimeHost, make_class: Callable[..., type]) -> dict[str, object]:
    kinds = machine.guard.kinds
    type_builtin = TypeBuiltin(kinds.of, make_class)

    def plain(kind: object) -> Any:
        """Return what Python's isinstance understands for what a script gave."""
        if kind is type_builtin:
            return type
        if isinstance(kind, RangeBuiltin):
            return (range, LongRange)
        if isinstance(kind, Either | TypeHint) and kind.kinds != (kind,):
            return tuple(type(None) if one is None else plain(one) for one in kind.kinds)
        if isinstance(kind, tuple):
            return tuple(plain(one) for one in kind)
        return kind._kind if isinstance(kind, TypeProxy) else kind

    def isinstance_(value: object, kind: object, /) -> bool:
        return isinstance(value, plain(kind))

    def issubclass_(value: object, kind: object, /) -> bool:
        return issubclass(range if isinstance(value, RangeBuiltin) else plain(value), plain(kind))

    for kind in (bytes, bytearray):
        kinds.stand_in(kind, BytesKind(kind))
    return {
        "type": type_builtin, "bytes": kinds.seen(bytes), "bytearray": kinds.seen(bytearray),
        "isinstance": named(isinstance_, "isinstance"), "issubclass": named(issubclass_, "issubclass"),
    }


class TypeBuiltin(Alternative):
    """`type`: gives the type of one value, and makes a class of a name, bases and a dictionary."""

    __slots__ = ("_make", "_of")
    __script_attributes__ = frozenset({"__name__"})

    def __init__(self, of: Callable[[object], object], make: Callable[..., type]) -> None:
        self._of = of
        self._make = make

    @property
    def __name__(self) -> str:
        return "type"

    def __call__(self, *values: Any, **keywords: Any) -> Any:
        """Return the type of the one value, or the class that three describe."""
        if len(values) == 3:
            return self._make(*values, **keywords)
        if len(values) != 1 or keywords:
            raise TypeError("type() takes 1 or 3 arguments")
        if values[0] is self or isinstance(values[0], type | TypeProxy):
            return self
        return self._of(values[0])

    def __repr__(self) -> str:
        return "<class 'type'>"


_SIZED = (list, tuple, dict, set, frozenset, str)
_NUMBERS = frozenset({int, float, bool})


def _reductions(machine: RuntimeHost) -> dict[str, object]:
    """Return the builtins that consume an iterable: they can be stopped, and tell of tensors they do not add up."""
    import builtins

    check = machine.check
    hinted: list[bool] = []

    def ticking(iterable: object) -> object:
        if isinstance(iterable, _SIZED) or hasattr(iterable, "__script_attributes__"):
            return iterable
        return _each(iterable, check)

    def adding(iterable: object, start: object) -> Any:
        """Sized things of numbers take Python's fast way; what is not a number may cost more with each step (lists grow)."""
        plain = type(start) in _NUMBERS and isinstance(iterable, list | tuple) and (not iterable or type(iterable[0]) in _NUMBERS)
        return iterable if plain else _each(iterable, check)

    def sum(iterable: Any, /, start: Any = 0) -> Any:
        if not hinted and _is_tensor(iterable):
            hinted.append(True)
            machine.on_warning("sum(x) adds the rows of a tensor, as in Python; x.sum() adds everything")
        return builtins.sum(adding(iterable, start), start)

    def consuming(name: str) -> object:
        function = getattr(builtins, name)

        def consume(*values: object, **options: object) -> object:
            if len(values) == 1:
                return function(ticking(values[0]), **options)
            return function(*values, **options)

        return named(consume, name)

    def pow(base: object, exp: object, mod: object = None) -> Any:
        if mod is not None and (_is_tensor(base) or _is_tensor(exp)):
            raise TypeError("pow() 3rd argument not allowed unless all arguments are integers")
        return power(base, exp) if mod is None else modular_power(base, exp, mod)

    def iter(value: Any, *sentinel: object) -> Any:
        made = builtins.iter(value, *sentinel)
        return _each(made, check) if sentinel else made

    table = {name: consuming(name) for name in ("max", "min", "sorted", "any", "all")}
    def round(number: float, ndigits: int | None = None) -> float:
        if isinstance(number, int) and isinstance(ndigits, int) and -ndigits > number.bit_length():
            return 0  # Python itself would compute that power of ten first
        return builtins.round(number, ndigits)

    return table | {"sum": named(sum), "pow": named(pow), "round": named(round), "iter": named(iter)}


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def _each(iterable: Any, check: Callable[[], None]) -> Iterator[object]:
    for value in iterable:
        check()
        yield value
