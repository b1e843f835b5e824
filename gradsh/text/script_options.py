r"""The options that a script states for its own run and test, in comments `#@ ` at column 0:

#@ seed=0 rtol=1e-4 atol=1e-6     where random numbers start, how far floats may lie apart
#@ tags=slow,gpu                  words by which `gradsh test -k` chooses
#@ skip="why" if="numpy<2.1"      not tested (where the condition holds); xfail="why": expected to fail
#@ [ID] /id \d+/                   a pattern of the file's own, written as [ID] in expected lines
#@ [TIME]                         a pattern that has a name already is written down as [TIME], too
"""

import re

from gradsh.text.problem import Label, Problem, ProblemError
from gradsh.text.span import Source, Span
from gradsh.text.tuples import NamedTuple

OPTIONS = ("atol", "rtol", "seed", "skip", "tags", "xfail")


class Excuse(NamedTuple):
    """A `skip` or an `xfail`: the line it stands on, the reason, and the condition under which it holds (empty: always)."""

    line: int
    kind: str
    reason: str
    condition: str = ""


class ScriptOptions(NamedTuple):
    """What a script's `#@ ` lines say; None where they say nothing. `redactions` are (name, pattern or empty)."""

    seed: int | None = None
    rtol: float | None = None
    atol: float | None = None
    tags: tuple[str, ...] = ()
    excuses: tuple[Excuse, ...] = ()
    redactions: tuple[tuple[str, str], ...] = ()


def seed_of(text: str) -> int:
    """Return the seed that a text names (0x12 counts, too). Raises ValueError, also for one that no generator takes."""
    seed = int(text, 0)
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError("a seed lies between -2**63 and 2**64 - 1")
    return seed


def tolerance_of(text: str) -> float:
    """Return the tolerance that a text names. Raises ValueError."""
    value = float(text)
    if not value >= 0:
        raise ValueError("a tolerance is no less than 0")
    return value


def options_of(source: Source, *, strict: bool = True) -> ScriptOptions:
    """Return the options that `#@ ` lines give.

    With `strict`, an unknown or ill-formed one is a ProblemError of kind `syntax`; without, it is some comment.
    """
    found = ScriptOptions()
    problems: list[ProblemError] = []
    for number, line in enumerate(source.lines, source.first_line):
        if line.startswith("#@ "):
            take = _redaction if line[2:].lstrip().startswith("[") else _words
            found = take(found, line, number, problems)
    if strict and problems:
        raise problems[0]
    return found


def _redaction(found: ScriptOptions, line: str, number: int, problems: list[ProblemError]) -> ScriptOptions:
    """Take a line `#@ [NAME] /PATTERN/` or `#@ [NAME]`."""
    match = re.fullmatch(r"#@ +\[([A-Z][A-Z0-9_]*)\](?: +/(.+)/)?\s*", line)
    wrong = "this names no pattern" if match is None else pattern_fault(match[2] or "")
    if match is None or wrong:
        span = Span(number, 4, number, len(line) + 1)
        problems.append(_bad(span, wrong, "write `#@ [NAME] /PATTERN/`, the name in capitals, a regular expression between the strokes"))
        return found
    return found._replace(redactions=(*found.redactions, (match[1], match[2] or "")))


def pattern_fault(pattern: str) -> str:
    """Say why a text is no regular expression, or nothing."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"the pattern is none: {error}"
    return ""


def _words(found: ScriptOptions, line: str, number: int, problems: list[ProblemError]) -> ScriptOptions:
    """Take the words NAME=VALUE of a line; a value with blanks stands in quotes."""
    for match in re.finditer(r'(\w+)=(?:"([^"]*)"|(\S*))|\S+', line[2:]):
        span = Span(number, match.start() + 3, number, match.end() + 3)
        key, value = match[1], match[3] if match[2] is None else match[2]
        if key == "if" and found.excuses and found.excuses[-1].line == number:
            found = found._replace(excuses=(*found.excuses[:-1], found.excuses[-1]._replace(condition=value)))
        elif key not in OPTIONS:
            problems.append(_bad(span, f"unknown option {match[0]!r}", f"the options are {', '.join(OPTIONS)}"))
        elif key in {"skip", "xfail"}:
            found = found._replace(excuses=(*found.excuses, Excuse(number, key, value or "no reason given")))
        elif key == "tags":
            found = found._replace(tags=(*found.tags, *filter(None, value.split(","))))
        else:
            try:
                found = _numbered(found, key, value)
            except ValueError:
                problems.append(_bad(span, f"{key} needs a number, not {value[:40]!r}", f"write {key}=1e-4"))
    return found


def _numbered(found: ScriptOptions, key: str, value: str) -> ScriptOptions:
    if key == "seed":
        return found._replace(seed=seed_of(value))
    return found._replace(rtol=tolerance_of(value)) if key == "rtol" else found._replace(atol=tolerance_of(value))


def _bad(span: Span, message: str, way: str) -> ProblemError:
    return ProblemError(Problem("syntax", message, (Label("needed", span, ""),), (way,)))
