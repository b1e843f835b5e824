"""Python's own modules that programs use around their training loop, each an explicit list of harmless names.

What a real module would do to the process (read files or variables, run text, bypass the guard) is left out or written
anew over the machine: output goes where the program's `print` goes, attributes are read through the guard.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import current, standing_in, tell
from gradsh.engine.attribute_names import ScriptBase, check_ordinary
from gradsh.runtime import bounded_operators
from gradsh.runtime.allowlist import offer
from gradsh.runtime.builtins import leave
from gradsh.runtime.guard import BAGS
from gradsh.runtime.library import Library, listed
from gradsh.runtime.type_proxies import Kind
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine


LONGEST_LITERAL = 100_000


def load_abc(_: "Machine") -> Mapping[str, Any]:
    """Return what `abc` offers."""
    import abc

    return listed(abc, "ABC abstractmethod") | {"ABCMeta": Kind(abc.ABCMeta)}  # called, it would make a class of any names


def load_ast(_: "Machine") -> Mapping[str, Any]:
    """Return what `ast` offers: values that are written as text; no trees of programs."""
    import ast

    def literal_eval(text: str) -> Any:
        """Return the number, text, list, tuple, set or dictionary that a text writes."""
        if type(text) is not str or len(text) > LONGEST_LITERAL:
            raise ValueError(f"literal_eval() takes a text of at most {LONGEST_LITERAL:,} characters")
        return ast.literal_eval(text)

    return {"literal_eval": literal_eval}


def load_bisect(_: "Machine") -> Mapping[str, Any]:
    """Return what `bisect` offers."""
    import bisect

    return listed(bisect, "bisect bisect_left bisect_right insort insort_left insort_right")


def load_contextlib(_: "Machine") -> Mapping[str, Any]:
    """Return what `contextlib` offers."""
    offer(contextlib.ExitStack, "enter_context callback push close pop_all")
    return listed(contextlib, "contextmanager nullcontext suppress closing ExitStack")


def load_csv(_: "Machine") -> Mapping[str, Any]:
    """Return what `csv` offers: tables in the session's files and in texts."""
    import csv
    import io

    offer(csv.DictReader, "fieldnames line_num")
    offer(csv.DictWriter, "writeheader writerow writerows fieldnames")
    offer(type(csv.writer(io.StringIO())), "writerow writerows")
    offer(type(csv.reader(())), "line_num")
    return listed(csv, "reader writer DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC Error")


def load_datetime(_: "Machine") -> Mapping[str, Any]:
    """Return what `datetime` offers."""
    import datetime as dt

    date = "year month day weekday isoweekday isoformat strftime replace toordinal today fromisoformat"
    time = "hour minute second microsecond tzinfo"
    offer(dt.date, date)
    offer(dt.datetime, f"{date} {time} now utcnow fromtimestamp strptime timestamp date time astimezone combine")
    offer(dt.time, f"{time} isoformat strftime replace")
    offer(dt.timedelta, "days seconds microseconds total_seconds")
    offer(dt.timezone, "utc")
    return listed(dt, "datetime date time timedelta timezone")


def load_enum(_: "Machine") -> Mapping[str, Any]:
    """Return what `enum` offers."""
    import enum

    from gradsh.runtime.enumerations import KINDS

    return KINDS | listed(enum, "auto unique")


def load_gc(_: "Machine") -> Mapping[str, Any]:
    """Return what `gc` offers: memory goes with its last reference, so there is nothing to collect."""
    return {"collect": lambda generation=2: 0, "enable": lambda: None, "disable": lambda: None, "isenabled": lambda: True}


def load_heapq(_: "Machine") -> Mapping[str, Any]:
    """Return what `heapq` offers."""
    import heapq

    return listed(heapq, "heappush heappop heapify heapreplace heappushpop nlargest nsmallest")


def load_glob(_: "Machine") -> Mapping[str, Any]:
    """Return what `glob` offers: the files that the program wrote, by pattern."""
    from fnmatch import fnmatchcase

    def glob(pathname: Any, **_: Any) -> list[str]:
        """Return the names of the session's files that fit a pattern."""
        return sorted(name for name in current().files if fnmatchcase(name, str(pathname)))

    return {"glob": glob, "iglob": lambda pathname, **_: iter(glob(pathname))}


def load_inspect(_: "Machine") -> Mapping[str, Any]:
    """Return what `inspect` offers: questions about functions and classes; no source, no frames."""
    import inspect

    offer(inspect.Parameter, "name default kind annotation empty")

    def signature(callable: Any, /) -> Signature:
        """Return the parameters of a function, by name."""
        return Signature(parameters=dict(inspect.signature(callable).parameters))

    return listed(inspect, "isfunction isclass ismethod isgenerator isgeneratorfunction isbuiltin Parameter cleandoc") | {
        "signature": signature
    }


def load_io(_: "Machine") -> Mapping[str, Any]:
    """Return what `io` offers: files that live in memory."""
    import io

    for kind in (io.StringIO, io.BytesIO):
        offer(kind, "read readline readlines write writelines getvalue seek tell truncate close closed flush")
    return {**listed(io, "StringIO BytesIO"), **load_codecs(_)}


def load_codecs(_: "Machine") -> Mapping[str, Any]:
    """Return what `codecs` offers: the builtin `open`."""
    from gradsh.runtime.session_files import open

    return {"open": open}


def load_hashlib(_: "Machine") -> Mapping[str, Any]:
    """Return what `hashlib` offers."""
    import hashlib

    offer(type(hashlib.md5()), "update digest hexdigest name digest_size copy")
    return listed(hashlib, "md5 sha1 sha224 sha256 sha384 sha512")


def load_json(_: "Machine") -> Mapping[str, Any]:
    """Return what `json` offers: texts, not files of the disk."""
    import json

    def dumps(
        obj: Any, *, skipkeys: bool = False, ensure_ascii: bool = True, allow_nan: bool = True, indent: Any = None,
        separators: Any = None, default: Any = None, sort_keys: bool = False,
    ) -> str:
        """Return the value as JSON."""
        return json.dumps(
            obj, skipkeys=skipkeys, ensure_ascii=ensure_ascii, allow_nan=allow_nan, indent=indent,
            separators=separators, default=default, sort_keys=sort_keys,
        )

    def dump(obj: Any, fp: Any, **options: Any) -> None:
        """Write the value as JSON into an open file."""
        fp.write(dumps(obj, **options))

    def loads(s: str, *, object_hook: Any = None) -> Any:
        """Return the value of a JSON text."""
        return json.loads(s, object_hook=object_hook)

    def load(fp: Any, *, object_hook: Any = None) -> Any:
        """Return the value of an open file's JSON text."""
        return json.loads(fp.read(), object_hook=object_hook)

    return {"dumps": dumps, "loads": loads, "dump": dump, "load": load, "JSONDecodeError": json.JSONDecodeError}


def load_operator(machine: "Machine") -> Mapping[str, Any]:
    """Return what `operator` offers; operators that explode are bounded, attributes are read through the guard."""
    import operator

    def attrgetter(*names: str) -> Callable[[Any], Any]:
        """Return a function that reads the named attributes (with dots: of attributes)."""

        def read(owner: Any, path: str) -> Any:
            for name in path.split("."):
                owner = machine.guard.read(owner, name)
            return owner

        def get(owner: Any) -> Any:
            found = tuple(read(owner, name) for name in names)
            return found[0] if len(found) == 1 else found

        return get

    names = "add sub truediv floordiv mod neg pos abs eq ne lt le gt ge and_ or_ xor not_ is_ is_not itemgetter contains getitem truth"
    bounded = {"mul": bounded_operators.times, "pow": bounded_operators.power, "lshift": bounded_operators.shift}
    return listed(operator, names) | bounded | {"attrgetter": attrgetter}


def load_os(machine: "Machine") -> Mapping[str, Any]:
    """Return what `os` offers: paths as values, and an environment without variables."""
    environment: dict[str, str] = {}

    @standing_in("os.makedirs", "and makes no folder")
    def makedirs(name: Any, mode: int = 0o777, exist_ok: bool = False) -> None:
        """Make no folder: what a program saves is kept in the session."""
        del mode, exist_ok
        tell(makedirs, f" '{name}'")

    return {
        "path": Library("os.path", lambda: load_os_path(machine)), "sep": "/", "linesep": "\n", "name": "posix",
        "environ": environment, "getenv": environment.get, "makedirs": makedirs, "mkdir": makedirs,
        "getcwd": lambda: ".", "cpu_count": lambda: 1, "getpid": lambda: 1, "listdir": _listed_folder,
        "remove": remove, "unlink": remove, "rename": move, "replace": move,
    }


def _held(path: Any) -> str:
    """Return the name of a file that the program wrote. Raises FileNotFoundError."""
    if not is_file(path):
        raise fail("io", f"[Errno 2] No such file or directory: '{path}'", FileNotFoundError, name=str(path))
    return str(path)


def remove(path: Any) -> None:
    """Forget a file of the session."""
    del current().files[_held(path)]


def move(src: Any, dst: Any) -> str:
    """Give a file of the session another name."""
    current().files[str(dst)] = current().files.pop(_held(src))
    return str(dst)


def copy_file(src: Any, dst: Any, **_: Any) -> str:
    """Keep a file of the session under a second name."""
    current().files[str(dst)] = current().files[_held(src)]
    return str(dst)


def remove_folder(path: Any, *_: Any, **__: Any) -> None:
    """Forget the session's files below a name."""
    for name in [name for name in current().files if name.startswith(f"{path}/")]:
        del current().files[name]


def _listed_folder(path: Any = ".") -> list[str]:
    start = "" if str(path) == "." else f"{path}/"
    return sorted({name.removeprefix(start).partition("/")[0] for name in current().files if name.startswith(start)})


def load_pickle(_: "Machine") -> Mapping[str, Any]:
    """Return what `pickle` offers: objects kept in the session. Bytes are never unpickled: they could run anything."""
    from gradsh.api.stand_ins import load, save

    def dumps(obj: Any, *_: Any, **__: Any) -> bytes:
        """Keep a copy and return the name under which `loads` finds it."""
        name = f"<pickle {len(current().files)}>"
        save(obj, name)
        return name.encode()

    def loads(data: bytes, **_: Any) -> Any:
        """Return a copy of what `dumps` kept."""
        return load(bytes(data).decode(errors="replace"))

    return {"dump": save, "load": load, "dumps": dumps, "loads": loads, "HIGHEST_PROTOCOL": 5, "DEFAULT_PROTOCOL": 5}


def load_shutil(_: "Machine") -> Mapping[str, Any]:
    """Return what `shutil` offers: files of the session get other names."""
    return {"copyfile": copy_file, "copy": copy_file, "copy2": copy_file, "move": move, "rmtree": remove_folder}


def is_file(path: Any) -> bool:
    """Tell whether the program wrote a file of this name."""
    return str(path) in current().files


def is_folder(path: Any) -> bool:
    """Tell whether the program wrote a file below this name."""
    return any(name.startswith(f"{path}/") for name in current().files)


def load_os_path(_: "Machine") -> Mapping[str, Any]:
    """Return what `os.path` offers: functions of texts. No path exists but what the program wrote."""
    import posixpath

    texts = listed(posixpath, "join basename dirname split splitext normpath isabs commonprefix sep")
    return texts | {
        "exists": lambda path: is_file(path) or is_folder(path), "isfile": is_file, "isdir": is_folder,
        "abspath": lambda path: str(path), "expanduser": lambda path: str(path), "realpath": lambda path: str(path),
    }


def load_pprint(machine: "Machine") -> Mapping[str, Any]:
    """Return what `pprint` offers."""
    import pprint

    def pretty(object: Any, indent: int = 1, width: int = 80, depth: int | None = None) -> None:
        """Print a value with its parts below each other."""
        machine.on_print(pprint.pformat(object, indent=indent, width=width, depth=depth) + "\n")

    return {"pprint": pretty, "pformat": pprint.pformat}


def load_re(_: "Machine") -> Mapping[str, Any]:
    """Return what `re` offers."""
    import re

    names = (
        "compile search match fullmatch findall finditer sub subn split escape error "
        "I IGNORECASE M MULTILINE S DOTALL X VERBOSE A ASCII"
    )
    return listed(re, names)


def load_statistics(_: "Machine") -> Mapping[str, Any]:
    """Return what `statistics` offers."""
    import statistics

    return listed(statistics, "mean fmean median median_low median_high mode stdev pstdev variance pvariance quantiles")


def load_string(_: "Machine") -> Mapping[str, Any]:
    """Return what `string` offers; its Template and Formatter read attributes by themselves, and are left out."""
    import string

    names = "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable whitespace capwords"
    return listed(string, names)


def load_textwrap(_: "Machine") -> Mapping[str, Any]:
    """Return what `textwrap` offers."""
    import textwrap

    return listed(textwrap, "dedent indent fill wrap shorten")


class Namespace(ScriptBase):
    """A bag of attributes: `types.SimpleNamespace`, and what `parse_args` returns."""

    __module__ = "argparse"

    def __init__(self, **attributes: Any) -> None:
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


class Signature(Namespace):
    """What `inspect.signature` gives: `parameters`, by name."""


class SimpleNamespace(Namespace):
    """A bag of attributes."""

    __module__ = "types"
    def __repr__(self) -> str:
        return "namespace" + super().__repr__().removeprefix(type(self).__name__)


BAGS.update((Namespace, SimpleNamespace, Signature))


def load_types(_: "Machine") -> Mapping[str, Any]:
    """Return what `types` offers."""
    return {"SimpleNamespace": SimpleNamespace}


def load_unicodedata(_: "Machine") -> Mapping[str, Any]:
    """Return what `unicodedata` offers."""
    import unicodedata

    return listed(unicodedata, "normalize category name lookup combining bidirectional decimal digit numeric")


def load_uuid(_: "Machine") -> Mapping[str, Any]:
    """Return what `uuid` offers: random names."""
    import uuid

    offer(uuid.UUID, "hex int bytes version")
    return listed(uuid, "uuid4 UUID")


def load_warnings(machine: "Machine") -> Mapping[str, Any]:
    """Return what `warnings` offers: a warning is told with its line; filters are kept simple: all or none."""

    def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None) -> None:
        """Report a warning."""
        del category, stacklevel, source
        machine.on_warning(str(message))

    def ignored(*_: Any, **__: Any) -> None:
        """Take a filter and change nothing: warnings stay on standard error."""

    @contextlib.contextmanager
    def catch_warnings(*, record: bool = False, **_: Any) -> Iterator[list[Any] | None]:
        """Run a block; nothing is recorded."""
        yield [] if record else None

    return {"warn": warn, "filterwarnings": ignored, "simplefilter": ignored, "resetwarnings": ignored,
            "catch_warnings": catch_warnings}  # fmt: skip


def load_weakref(_: "Machine") -> Mapping[str, Any]:
    """Return what `weakref` offers."""
    import weakref

    offer(weakref.ref, "")
    offer(weakref.WeakSet, "add discard remove clear pop update")
    for kind in (weakref.WeakValueDictionary, weakref.WeakKeyDictionary):
        offer(kind, "get keys values items pop setdefault update clear")
    return listed(weakref, "ref WeakSet WeakValueDictionary WeakKeyDictionary")


def load_sys(machine: "Machine") -> Mapping[str, Any]:
    """Return what `sys` offers."""
    import sys

    return {
        "argv": machine.arguments, "exit": leave, "stdout": Stream(machine.on_print), "stderr": Stream(machine.on_error_output),
        "maxsize": sys.maxsize, "float_info": sys.float_info, "platform": sys.platform, "version": sys.version,
        "version_info": tuple(sys.version_info[:3]), "getrecursionlimit": lambda: 1000, "setrecursionlimit": lambda limit: None,
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


def load_traceback(machine: "Machine") -> Mapping[str, Any]:
    """Return what `traceback` offers: an exception's class and sentence; its frames are Python's, not the program's."""
    import sys

    def text(error: BaseException | None) -> str:
        return "NoneType: None\n" if error is None else f"{type(error).__name__}: {error}\n"

    def format_exc(*_: Any, **__: Any) -> str:
        """Return the exception that is being handled."""
        return text(sys.exc_info()[1])

    def print_exc(*_: Any, **__: Any) -> None:
        """Write the exception that is being handled to standard error."""
        machine.on_error_output(format_exc())

    def print_exception(*errors: Any, **_: Any) -> None:
        """Write an exception to standard error."""
        found = [one for one in errors if isinstance(one, BaseException)]
        machine.on_error_output(text(found[0] if found else None))

    return {"format_exc": format_exc, "print_exc": print_exc, "print_exception": print_exception,
            "print_stack": lambda *_, **__: None}  # fmt: skip
