"""Writing and compiling the functions that are made for operations, so that tracebacks and debuggers show their lines."""

import linecache
import re
from collections.abc import Callable
from itertools import count
from textwrap import dedent, indent
from typing import Any

_number = count(1).__next__
_BLOCK = re.compile(r"( *)\{(\w+)\}")


def fill(template: str, **parts: str) -> str:
    """Put parts into a template: one that stands alone on its line may have several lines (or none), indented as it is."""
    lines: list[str] = []
    for line in dedent(template).split("\n"):
        block = _BLOCK.fullmatch(line)
        lines.append(line.format(**parts) if block is None else indent(parts[block[2]], block[1]))
    return "\n".join(line for line in lines if line.strip())


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
