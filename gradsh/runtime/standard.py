"""Python's own modules that programs use around their training loop, each an explicit list of harmless names.

What a real module would do to the process (read files or variables, run text, bypass the guard) is left out or written
anew over the machine: output goes where the program's `print` goes, attributes are read through the guard.
"""

import contextlib
import gc
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import current, standing_in, tell
from gradsh.engine.attribute_names import ScriptBase, check_ordinary
from gradsh.engine.graph.tensor import Tensor
from gradsh.runtime import bounded_operators
from gradsh.runtime.allowlist import offer
from gradsh.runtime.builtins import leave
from gradsh.runtime.enumerations import KINDS
from gradsh.runtime.guard import BAGS
from gradsh.runtime.library import listed
from gradsh.runtime.missing_modules import SYS_PATH
from gradsh.runtime.session_files import open
from gradsh.runtime.type_proxies import MethodKind, TypeProxy
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine


LONGEST_LITERAL = 100_000


def load_abc(_: "Machine") -> Mapping[str, object]:
    """Return what `abc` offers."""
    import abc

    kinds = {"ABCMeta": TypeProxy(abc.ABCMeta)}  # called, it would make a class of any names
    return listed(abc, "ABC abstractmethod") | kinds | {"abstractproperty": lambda fget: property(abc.abstractmethod(fget))}


def load_ast(_: "Machine") -> Mapping[str, object]:
    """Return what `ast` offers: values that are written as text; no trees of programs."""
    import ast

    def literal_eval(text: str) -> object:
        """Return the number, text, list, tuple, set or dictionary that a text writes."""
        if type(text) is not str or len(text) > LONGEST_LITERAL:
            raise ValueError(f"literal_eval() takes a text of at most {LONGEST_LITERAL:,} characters")
        return ast.literal_eval(text)

    return {"literal_eval": literal_eval}


def load_contextlib(machine: "Machine") -> Mapping[str, object]:
    """Return what `contextlib` offers."""
    def redirected(stream: str) -> object:
        @contextlib.contextmanager
        def redirect(new_target: object) -> Iterator[object]:
            """Let what a block writes to the stream go into an open file."""
            before = getattr(machine, stream)
            setattr(machine, stream, machine.guard.read(new_target, "write"))
            try:
                yield new_target
            finally:
                setattr(machine, stream, before)

        return redirect

    offer(contextlib.ExitStack, "enter_context callback push close pop_all")
    return listed(contextlib, "contextmanager nullcontext suppress closing ExitStack") | {
        "ContextDecorator": ContextDecorator, "AbstractContextManager": AbstractContextManager,
        "redirect_stdout": redirected("on_print"), "redirect_stderr": redirected("on_error_output"),
    }


class AbstractContextManager:
    """Base of classes that stand in `with`: entering gives the object itself."""

    __module__ = "contextlib"
    __slots__ = ()
    __script_base__ = True

    def __enter__(self) -> object:
        return self

    def __exit__(self, *_: object) -> None:
        return


class ContextDecorator:
    """Base of classes that stand in `with` and decorate functions, whose calls they then stand around."""

    __module__ = "contextlib"
    __slots__ = ()
    __script_base__ = True

    def __call__(self, func: Callable[..., object]) -> Callable[..., object]:
        """Return the function within `with self`."""

        def inner(*args: object, **kwargs: object) -> Any:
            with self:  # type: ignore[attr-defined]  # the script's class has both methods
                return func(*args, **kwargs)

        inner.__name__ = inner.__qualname__ = getattr(func, "__name__", "inner")
        return inner


def load_csv(_: "Machine") -> Mapping[str, object]:
    """Return what `csv` offers: tables in the session's files and in texts."""
    import csv
    import io

    offer(csv.DictReader, "fieldnames line_num")
    offer(csv.DictWriter, "writeheader writerow writerows fieldnames")
    offer(type(csv.writer(io.StringIO())), "writerow writerows")
    offer(type(csv.reader(())), "line_num")
    return listed(csv, "reader writer DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC Error")


def load_datetime(_: "Machine") -> Mapping[str, object]:
    """Return what `datetime` offers."""
    import datetime as dt

    date = "year month day weekday isoweekday isoformat strftime replace toordinal today fromisoformat"
    time = "hour minute second microsecond tzinfo"
    offer(dt.date, date)
    offer(dt.datetime, f"{date} {time} now utcnow fromtimestamp strptime timestamp date time astimezone combine")
    offer(dt.time, f"{time} isoformat strftime replace")
    offer(dt.timedelta, "days seconds microseconds total_seconds")
    offer(dt.timezone, "utc")
    return listed(dt, "datetime date time timedelta timezone UTC MINYEAR MAXYEAR")


def load_difflib(_: "Machine") -> Mapping[str, object]:
    """Return what `difflib` offers."""
    import difflib

    offer(difflib.SequenceMatcher, "ratio quick_ratio real_quick_ratio get_matching_blocks get_opcodes find_longest_match set_seqs")
    offer(difflib.Match, "a b size __getitem__ __len__")
    return listed(difflib, "SequenceMatcher get_close_matches unified_diff context_diff ndiff")


def load_enum(_: "Machine") -> Mapping[str, object]:
    """Return what `enum` offers."""
    import enum

    return KINDS | listed(enum, "auto unique") | dict.fromkeys(("EnumMeta", "EnumType"), TypeProxy(enum.EnumType))


@standing_in("gc.get_objects", "it lists the tensors, and no other object")
def _living_tensors(generation: int | None = None) -> list[Tensor]:
    """Return the tensors that live, the oldest first."""
    del generation
    tell(_living_tensors)
    gc.unfreeze()  # what is frozen would not be listed
    return [one for one in gc.get_objects() if issubclass(type(one), Tensor)]


def load_gc(_: "Machine") -> Mapping[str, object]:
    """Return what `gc` offers: memory is released with its last reference."""
    nothing = dict.fromkeys(("enable", "disable", "freeze", "unfreeze", "set_threshold"), lambda *_: None)
    return nothing | {"collect": lambda generation=2: 0, "isenabled": lambda: True, "get_count": lambda: (0, 0, 0), "garbage": [],
                      "get_objects": _living_tensors}


def load_inspect(_: "Machine") -> Mapping[str, object]:
    """Return what `inspect` offers: questions about functions and classes; no source, no frames."""
    import inspect

    offer(inspect.Parameter, "name default kind annotation empty")

    def signature(callable: Any, /) -> Signature:
        """Return the parameters of a function, by name."""
        found = inspect.signature(callable)
        shown = found.replace(
            parameters=[one.replace(annotation=_as_written(one.annotation)) for one in found.parameters.values()],
            return_annotation=_as_written(found.return_annotation),
        )
        return Signature(parameters=dict(found.parameters), return_annotation=shown.return_annotation, _text=str(shown))

    return listed(inspect, "isfunction isclass ismethod isgenerator isgeneratorfunction isbuiltin Parameter cleandoc") | {
        "signature": signature
    }


def load_io(_: "Machine") -> Mapping[str, object]:
    """Return what `io` offers: files that live in memory."""
    import io

    for kind in (io.StringIO, io.BytesIO):
        offer(kind, "read readline readlines write writelines getvalue seek tell truncate close closed flush")
    return {**listed(io, "StringIO BytesIO"), **load_codecs(_)}


def load_codecs(_: "Machine") -> Mapping[str, object]:
    """Return what `codecs` offers: the builtin `open`."""
    return {"open": open}


def load_hashlib(_: "Machine") -> Mapping[str, object]:
    """Return what `hashlib` offers."""
    import hashlib

    offer(type(hashlib.md5()), "update digest hexdigest name digest_size copy")
    return listed(hashlib, "md5 sha1 sha224 sha256 sha384 sha512")


def load_json(_: "Machine") -> Mapping[str, object]:
    """Return what `json` offers: texts, not files of the disk."""
    import json

    def dumps(
        obj: object, *, skipkeys: bool = False, ensure_ascii: bool = True, allow_nan: bool = True, indent: int | None = None,
        separators: Any = None, default: Any = None, sort_keys: bool = False, cls: object = None,
    ) -> str:
        """Return the value as JSON."""
        if cls is not None:
            if not (isinstance(cls, type) and issubclass(cls, JSONEncoder)):
                raise TypeError("cls is a class that derives from json.JSONEncoder")
            default = cls().default
        return json.dumps(
            obj, skipkeys=skipkeys, ensure_ascii=ensure_ascii, allow_nan=allow_nan, indent=indent,
            separators=separators, default=default, sort_keys=sort_keys,
        )

    def dump(obj: object, fp: Any, **options: Any) -> None:
        """Write the value as JSON into an open file."""
        fp.write(dumps(obj, **options))

    def loads(
        s: str, *, object_hook: Any = None, parse_float: Any = None, parse_int: Any = None, object_pairs_hook: Any = None,
    ) -> object:
        """Return the value of a JSON text."""
        return json.loads(s, object_hook=object_hook, parse_float=parse_float, parse_int=parse_int,
                          object_pairs_hook=object_pairs_hook)  # fmt: skip

    def load(fp: Any, **options: object) -> object:
        """Return the value of an open file's JSON text."""
        return loads(fp.read(), **options)

    return {"dumps": dumps, "loads": loads, "dump": dump, "load": load, "JSONEncoder": JSONEncoder,
            "JSONDecodeError": json.JSONDecodeError}  # fmt: skip


class JSONEncoder(ScriptBase):
    """What an encoder derives from, for `dumps(…, cls=…)`: its `default` gives what JSON has for an object."""

    __module__ = "json"
    __script_attributes__ = frozenset({"default"})  # type: ignore[assignment]

    def default(self, o: object) -> Any:
        """Refuse the object."""
        raise TypeError(f"Object of type {type(o).__name__} is not JSON serializable")


def load_operator(machine: "Machine") -> Mapping[str, object]:
    """Return what `operator` offers; operators that explode are bounded, attributes are read through the guard."""
    import operator

    def attrgetter(*names: str) -> Callable[[object], object]:
        """Return a function that reads the named attributes (with dots: of attributes)."""

        def read(owner: object, path: str) -> Any:
            for name in path.split("."):
                owner = machine.guard.read(owner, name)
            return owner

        def get(owner: object) -> Any:
            found = tuple(read(owner, name) for name in names)
            return found[0] if len(found) == 1 else found

        return get

    def methodcaller(name: str, /, *args: object, **kwargs: object) -> Callable[[object], object]:
        """Return a function that calls the named method of its argument."""
        return lambda owner: machine.guard.read(owner, name)(*args, **kwargs)

    names = (
        "add sub truediv floordiv mod matmul neg pos abs inv invert eq ne lt le gt ge and_ or_ xor rshift not_ is_ is_not truth "
        "index concat contains countOf indexOf itemgetter getitem setitem delitem"
    )
    bounded = {"mul": bounded_operators.times, "pow": bounded_operators.power, "lshift": bounded_operators.shift}
    return listed(operator, names) | bounded | {"attrgetter": attrgetter, "methodcaller": methodcaller}


def load_pprint(machine: "Machine") -> Mapping[str, object]:
    """Return what `pprint` offers."""
    import pprint

    def pretty(object: object, indent: int = 1, width: int = 80, depth: int | None = None) -> None:
        """Print a value with its parts below each other."""
        machine.on_print(pprint.pformat(object, indent=indent, width=width, depth=depth) + "\n")

    return {"pprint": pretty, "pformat": pprint.pformat}


class Namespace(ScriptBase):
    """A bag of attributes: `types.SimpleNamespace`, and what `parse_args` returns."""

    __module__ = "argparse"

    def __init__(self, **attributes: object) -> None:
        for name, value in attributes.items():
            check_ordinary(self, name)
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Namespace) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, name: str) -> bool:
        return name in vars(self)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({listed})"


class _AsWritten(str):
    """An annotation, which is a text here; it is shown as the program has it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _as_written(annotation: object) -> Any:
    return _AsWritten(annotation) if isinstance(annotation, str) else annotation


class Signature(Namespace):
    """What `inspect.signature` gives: `parameters`, by name, and the `return_annotation`."""

    _text: str

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Signature {self}>"


class SimpleNamespace(Namespace):
    """A bag of attributes."""

    __module__ = "types"
    def __repr__(self) -> str:
        return "namespace" + super().__repr__().removeprefix(type(self).__name__)


BAGS.update((Namespace, SimpleNamespace, Signature))


def load_timeit(machine: "Machine") -> Mapping[str, object]:
    """Return what `timeit` offers."""
    from time import perf_counter

    def timeit(stmt: object = None, number: int = 1_000_000, **_: object) -> float:
        """Return how long so many calls of a function take, in seconds."""
        if not callable(stmt):
            raise fail("type", "timeit() takes a function here: text is not run; `time STATEMENT` times a statement", TypeError)
        begun = perf_counter()
        for _index in range(number):
            machine.check()
            stmt()
        return perf_counter() - begun

    return {"default_timer": perf_counter, "timeit": timeit}


def load_types(machine: "Machine") -> Mapping[str, object]:
    """Return what `types` offers."""
    import types

    kinds = "FunctionType LambdaType MethodType BuiltinFunctionType BuiltinMethodType GeneratorType ModuleType NoneType"
    machine.guard.kinds.stand_in(types.MethodType, MethodKind(types.MethodType))
    return {"SimpleNamespace": SimpleNamespace} | {
        name: machine.guard.kinds.seen(kind) for name, kind in listed(types, kinds).items()
    }


def load_uuid(_: "Machine") -> Mapping[str, object]:
    """Return what `uuid` offers: random names."""
    import uuid

    offer(uuid.UUID, "hex int bytes version")
    return listed(uuid, "uuid4 UUID")


def load_weakref(_: "Machine") -> Mapping[str, object]:
    """Return what `weakref` offers."""
    import weakref

    offer(weakref.ref, "")
    offer(weakref.WeakSet, "add discard remove clear pop update")
    for kind in (weakref.WeakValueDictionary, weakref.WeakKeyDictionary):
        offer(kind, "get keys values items pop setdefault update clear")
    return listed(weakref, "ref WeakSet WeakValueDictionary WeakKeyDictionary")


def load_sys(machine: "Machine") -> Mapping[str, object]:
    """Return what `sys` offers."""
    import sys

    def exc_info() -> tuple[object, object, None]:
        """Return the class and the exception that is being handled."""
        error = sys.exc_info()[1]
        return None if error is None else machine.guard.kinds.of(error), error, None

    offer(type(sys.version_info), "major minor micro releaselevel serial")
    offer(type(sys.float_info), "max min max_exp min_exp max_10_exp min_10_exp dig mant_dig epsilon radix rounds")
    stderr = Stream(lambda text: machine.on_error_output(text))
    return listed(sys, "maxsize float_info platform version version_info byteorder maxunicode getsizeof") | {
        "argv": machine.arguments, "exit": leave, "stdin": EmptyInput(),
        "stdout": Stream(lambda text: machine.on_print(text)), "stderr": stderr,
        "__stderr__": stderr, "exc_info": exc_info, "executable": "",
        "path": current().flags.setdefault(SYS_PATH, ["."]), "getrecursionlimit": lambda: 1000,
        "setrecursionlimit": lambda limit: None, "getdefaultencoding": lambda: "utf-8", "gettrace": lambda: None,
    }


class Stream:
    """A stream of the program: what is written to it is told as its prints are."""

    __module__ = "sys"
    __script_attributes__ = frozenset({"write", "flush", "isatty"})

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def write(self, text: str) -> int:
        """Write text."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._tell(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: what is written is told at once."""

    def isatty(self) -> bool:
        """Return False."""
        return False


@standing_in("sys.stdin", "it is empty")
class EmptyInput:
    """Standard input: at its end from the beginning, as for a program that nobody types to."""

    __module__ = "sys"
    __script_attributes__ = frozenset({"read", "readline", "readlines", "isatty"})

    def read(self, _size: int = -1) -> str:
        """Return no text."""
        tell(EmptyInput)
        return ""

    readline = read

    def readlines(self, _hint: int = -1) -> list[str]:
        """Return no lines."""
        return self.read().splitlines()

    def __iter__(self) -> Iterator[str]:
        return iter(self.readlines())

    def isatty(self) -> bool:
        """Return False."""
        return False


def load_traceback(machine: "Machine") -> Mapping[str, object]:
    """Return what `traceback` offers: an exception's class and sentence; its frames are Python's, not the program's."""
    import sys

    def text(error: BaseException | None) -> str:
        return "NoneType: None\n" if error is None else f"{type(error).__name__}: {error}\n"

    def format_exc(*_: object, **__: object) -> str:
        """Return the exception that is being handled."""
        return text(sys.exc_info()[1])

    def print_exc(*_: object, **__: object) -> None:
        """Write the exception that is being handled to standard error."""
        machine.on_error_output(format_exc())

    def print_exception(*errors: object, **_: object) -> None:
        """Write an exception to standard error."""
        found = [one for one in errors if isinstance(one, BaseException)]
        machine.on_error_output(text(found[0] if found else None))

    def format_exception(*errors: object, **_: object) -> list[str]:
        """Return an exception's class and sentence."""
        return [text(one) for one in errors if isinstance(one, BaseException)][:1]

    return {"format_exc": format_exc, "print_exc": print_exc, "print_exception": print_exception,
            "format_exception": format_exception, "format_exception_only": format_exception,
            "print_stack": lambda *_, **__: None}  # fmt: skip
