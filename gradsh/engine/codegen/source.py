"""Compiling the functions that are written for operations, so that tracebacks and debuggers show their lines."""

import linecache
from collections.abc import Callable
from itertools import count
from typing import Any

_number = count(1).__next__


def compile_source(title: str, source: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """Return the function that a text defines, over the names in `scope`, which no parameter or local name may hide.

    Its file is `<gradsh TITLE #N>`. The text is kept in `linecache` as long as the process lives.
    """
    lines = [line + "\n" for line in source.split("\n") if line.strip()]
    filename = f"<gradsh {title} #{_number()}>"
    text = "".join(lines)
    code = compile(text, filename, "exec")
    linecache.cache[filename] = (len(text), None, lines, filename)
    before = {*scope}
    exec(code, scope)
    (name,) = {*scope} - before - {"__builtins__"}
    made: Callable[..., Any] = scope[name]
    hidden = before.intersection(made.__code__.co_varnames)
    assert not hidden, f"{filename}: local names hide {', '.join(sorted(hidden))}"
    return made
