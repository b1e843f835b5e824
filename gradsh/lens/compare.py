"""`gradsh compare FILE`: runs a script on both engines and shows the first statement at which anything differs."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gradsh.contracts.events import Done, Event, Failure, Print, Value
from gradsh.golden.compare import Tolerance, text_matches
from gradsh.lens import missing
from gradsh.render.diagnostic import draw
from gradsh.render.style import style_for
from gradsh.run.read import Script, read_script
from gradsh.session.session import Session
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span

CLOSE, PRINTED = Tolerance(1e-4, 1e-5), Tolerance(1e-3, 1.5e-4)
"""For values, and for text, which has four digits."""
FACETS = {
    "shape": "shape", "dtype": "dtype", "requires_grad": "requires_grad", "is_leaf": "being a leaf", "grad_fn": "node",
    "version": "version", "data": "value", "grad": "gradient",
}
"""Fields of a tensor's state, in the order in which they are compared -> what they are called."""
_ADDRESS = re.compile(r"\b0x[0-9a-f]+")
_MOST = 200
"""Characters that are shown of a value."""


class ComparedStatement(NamedTuple):
    """What a top-level statement showed, how it failed ("" where it passed), and the state after it."""

    line: int
    end_line: int
    shown: tuple[str, ...]
    failed: str
    tensors: dict[str, Any]
    buffers: dict[str, Any]


class Difference(NamedTuple):
    """The lines of the statement after which the engines differ, in what, and what each has."""

    line: int
    end_line: int
    what: str
    gradsh: str
    pytorch: str


def compare_file(name: str) -> int:
    """Compare a script's runs; return 0 where they agree, 1 where they differ, 2 where it cannot be read or PyTorch is missing."""
    if lacking := missing():
        sys.stderr.write(f"gradsh: {lacking}\n")
        return 2
    script = read_script(name)
    if script.unreadable:
        sys.stderr.write(f"gradsh: cannot read {script.name}: {script.unreadable}\n")
        return 2
    number, found = compared(script)
    if found is None:
        sys.stdout.write(f"{script.name}: the engines agree after each of {number} statements\n")
        return 0
    source = Source(script.name, script.text)
    width = len(source.line(found.line))
    label = Label("needed", Span(found.line, 1, found.line, width + 1), "the first difference is after this statement", source)
    problem = Problem("other", f"the engines differ in {found.what}", (label,), (), ())
    lines = draw(problem, source, style_for(sys.stdout, plain=False))
    lines[0] = f"{script.name}:{found.line}: the engines differ in {found.what}"
    sys.stdout.write("".join(f"{line}\n" for line in (*lines, f"  gradsh:  {found.gradsh}", f"  PyTorch: {found.pytorch}")))
    return 1


def compared(script: Script) -> tuple[int, Difference | None]:
    """Return how many statements agree, and the first difference."""
    from gradsh.lens.engine import TorchSession

    ours, theirs = steps_of(Session(), script), steps_of(TorchSession(), script)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        found = next(_differences(one, other), None)
        if found is not None:
            return number, Difference(one.line, one.end_line, *found)
    return len(ours), None


def steps_of(session: Session, script: Script) -> list[ComparedStatement]:
    """Return the steps of a script's run; a text that cannot be parsed is one step that fails."""
    found: list[ComparedStatement] = []
    shown: list[str] = []
    failed = ""

    def emit(event: Event) -> None:
        nonlocal failed
        if isinstance(event, Print | Value):
            shown.append(event.text)
        elif isinstance(event, Failure):
            failed = f"error[{event.problem.kind}] on line {event.line}"
        elif isinstance(event, Done):
            state = session.snapshot()
            lines = tuple("\n".join(shown).split("\n"))
            found.append(ComparedStatement(event.line, event.end_line, lines, failed, state.tensors, state.buffers))
            shown.clear()
            failed = ""

    session.run(script.text, emit, name=script.name, keep_going=True)
    return found or [ComparedStatement(1, 1, (), failed, {}, {})]


def _differences(one: ComparedStatement, other: ComparedStatement) -> Iterator[tuple[str, str, str]]:
    """Yield (what, gradsh's, PyTorch's) of each difference, the most telling first."""
    if one.failed != other.failed:
        yield "how the statement ends", one.failed or "it passes", other.failed or "it passes"
    if len(one.shown) != len(other.shown) or not all(map(_same_text, one.shown, other.shown)):
        yield "what is shown", _short("\n".join(one.shown)), _short("\n".join(other.shown))
    for name in dict.fromkeys((*one.tensors, *other.tensors)):
        mine, yours = one.tensors.get(name), other.tensors.get(name)
        if mine is None or yours is None:
            yield f"whether {name} is a tensor", "yes" if mine else "no", "yes" if yours else "no"
            continue
        for field, what in FACETS.items():
            if not _same(mine[field], yours[field]):
                yield f"the {what} of {name}", _short(mine[field]), _short(yours[field])
    for name in one.buffers.keys() & other.buffers.keys():
        saved, others = _entries(one.buffers[name]), _entries(other.buffers[name])
        if saved != others:
            yield f"what the graph of {name} saved", _listed(saved - others), _listed(others - saved)


def _same_text(one: str, other: str) -> bool:
    """Whether two lines agree; the addresses of objects never do."""
    return text_matches(_ADDRESS.sub("0x0", one), _ADDRESS.sub("0x0", other), PRINTED)


def _same(one: object, other: object) -> bool:
    if one == other:
        return True
    if not isinstance(one, list | int | float) or not isinstance(other, list | int | float) or isinstance(one, bool):
        return False
    first, second = np.array(one), np.array(other)
    return first.shape == second.shape and bool(np.allclose(first, second, CLOSE.rtol, CLOSE.atol, equal_nan=True))


def _entries(entries: list[dict[str, Any]]) -> Counter[str]:
    """Return what a graph saved, counted: node, name, and shape or that it is freed."""
    return Counter(
        f"{one['node']}.{one['name']} " + ("freed" if one["freed"] else str(tuple(one["shape"] or ()))) for one in entries
    )


def _listed(entries: Counter[str]) -> str:
    return _short(", ".join(sorted(entries.elements())) or "nothing more")


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
