r"""Patterns with names for what differs from run to run: `[TIME]` in an expected line stands for a time.

Some are known everywhere; a script defines its own (`#@ [ID] /id \d+/`), and so does `[tool.gradsh.redact]` of a `pyproject.toml`
(`ID = 'id \d+'`). Those, the addresses of objects and the ones that a script names (`#@ [TIME]`) are also put into lines that are written.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gradsh.process.files import read_text
from gradsh.text.script_options import ScriptOptions, pattern_fault


class Redaction(NamedTuple):
    """A pattern, its name, and whether what matches it is written down as the name."""

    name: str
    pattern: str
    written: bool = False


KNOWN = (
    Redaction("PTR", r"0x[0-9a-fA-F]+"),
    Redaction("ADDRESS", r"(?<=\bat )0x[0-9a-f]{6,}\b", written=True),  # of an object: no two runs agree on it
    Redaction("TIME", r"\d+(?:\.\d+)?(?:e[-+]?\d+)? ?(?:ns|us|µs|μs|ms|s|min|h)\b"),
    Redaction("DATE", r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?"),
    Redaction("BYTES", r"\d+(?:\.\d+)? ?(?:B|[KMGT]i?B)\b"),
    Redaction("NUM", r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"),
    Redaction("PATH", r"(?:~|\.{0,2})?(?:/[\w.+-]+)+/?"),
)


def with_own(known: tuple[Redaction, ...], options: ScriptOptions) -> tuple[Redaction, ...]:
    """Return the patterns that hold in a script. Raises ValueError where it names one that nothing defines."""
    found = {one.name: one for one in known}
    for name, pattern in options.redactions:
        if not pattern and name not in found:
            raise ValueError(f"no pattern is called [{name}]; define it: #@ [{name}] /PATTERN/")
        found[name] = Redaction(name, pattern or found[name].pattern, written=True)
    return tuple(found.values())


def of_project(folder: Path) -> tuple[Redaction, ...]:
    """Return the patterns that hold below a folder: those of the nearest `pyproject.toml`, and what is known everywhere.

    Raises ValueError, with a sentence, where that file cannot be read or says something else.
    """
    file = next((base / "pyproject.toml" for base in (folder, *folder.parents) if (base / "pyproject.toml").exists()), None)
    if file is None:
        return KNOWN
    try:
        table = tomllib.loads(read_text(file)).get("tool", {}).get("gradsh", {}).get("redact", {})
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"cannot read {file}: {error}") from None
    own = tuple(_defined(table, file))
    return (*(one for one in KNOWN if one.name not in table), *own)


def _defined(table: object, file: Path) -> Iterable[Redaction]:
    if not isinstance(table, dict):
        raise ValueError(f"{file}: [tool.gradsh.redact] is a table NAME = 'PATTERN'")  # noqa: TRY004  # the file is wrong, no call
    for name, pattern in table.items():
        wrong = "" if re.fullmatch("[A-Z][A-Z0-9_]*", name) and isinstance(pattern, str) else "a name in capitals and a pattern are wanted"
        wrong = wrong or pattern_fault(pattern)
        if wrong:
            raise ValueError(f"{file}: [tool.gradsh.redact] {name}: {wrong}")
        yield Redaction(name, pattern, written=True)


def redacted(text: str, redactions: Iterable[Redaction]) -> str:
    """Return a line as it is written down: the patterns that are to be written are."""
    for one in redactions:
        if one.written:
            text = re.sub(one.pattern, lambda match, name=one.name: f"[{name}]" if match[0] else "", text)  # type: ignore[misc]
    return text
