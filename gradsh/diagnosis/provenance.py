"""Where values came from, read off the program's text: the statement that bound a name, and where a history was cut.

The engine knows where nodes were made; it does not know where a leaf was. So the names that hold a value now are looked
up (by identity), and their binding statements in what has been run.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gradsh.compiler.scopes import bound_by, children, own_expressions, statements_of
from gradsh.diagnosis.trace import TraceStep
from gradsh.engine.graph.tensor import Tensor
from gradsh.language import tree
from gradsh.language.node import SyntaxNode, expr, stmt
from gradsh.probe.modules import is_module, parameters_of
from gradsh.text.span import Source, Span

if TYPE_CHECKING:
    from gradsh.compiler.lower import Unit
    from gradsh.diagnosis.trace import TraceStep
    from gradsh.runtime.machine import Machine

_Kind = TypeVar("_Kind", bound=SyntaxNode)


class Frame(NamedTuple):
    """A running frame of the script: its place, and its variables (None at the top level: the program's)."""

    step: "TraceStep"
    local: dict[str, Any] | None


def frame_of(unit: "Unit", local: dict[str, object] | None) -> Frame:
    """Return the frame of a top-level statement that is running, for questions outside of any failure."""
    return Frame(TraceStep(unit.stmt.span, unit.stmt.span, unit.source, "<module>", unit.code, 0), local)


class Origin(NamedTuple):
    """A statement that made or bound a value; `cut` if what went into it required grad and its result does not."""

    span: Span
    source: Source
    cut: bool
    statement: stmt
    node: Any = None
    """The expression that cut the history, where it is known."""
    before: bool = False
    """Whether a later origin made the tensor anew, without a history, from what this one gave."""


class Origins:
    """Answers for one failure: `frames` are the script's frames, outermost first."""

    def __init__(self, machine: "Machine", frames: list[Frame]) -> None:
        self.machine = machine
        self.frames = frames

    def value(self, name: str) -> Any:
        """Return what a name means in the innermost frame, or None."""
        local = self.frames[-1].local if self.frames else None
        if local is not None and name in local:
            return local[name]
        return self.machine.program.get(name)

    def names_of(self, value: object) -> list[str]:
        """Return the names that hold exactly this value, the innermost frame's first; `name.weight` inside a module."""
        found: list[str] = []
        for scope in (self.frames[-1].local if self.frames else None, self.machine.program):
            for name, held in (scope or {}).items():
                if name[:1] in "._" or name in found:
                    continue
                if held is value:
                    found.append(name)
                elif path := path_in(name, held, value):
                    found.append(path)
        return sorted(found, key=lambda name: ("." in name or "[" in name))

    def binder(self, name: str, rebinding: bool = True) -> tuple[stmt, Source] | None:
        """Return the statement that last bound a name before the failing one; in-place updates only if `rebinding`."""
        if not self.frames:
            return None
        local = self.frames[-1].local
        step = self.frames[-1 if local is not None and name in local else 0].step
        unit = self.machine.units.of(step.code)
        if unit is None:
            return None
        inside = function_at(unit.stmt, step)
        body = [unit.stmt] if inside is None else list(inside.body)
        found = latest(body, name, step.statement, rebinding)
        if found is not None:
            return found, unit.source
        if inside is not None:
            return None
        for earlier in self.machine.units.before(unit):
            found = latest([earlier.stmt], name, None, rebinding)
            if found is not None:
                return found, earlier.source
        return None

    def made(self, value: object) -> Origin | None:
        """Return the statement that made a value which a name holds; prefers one that creates over one that passes on."""
        candidates: list[Origin] = []
        for name in self.names_of(value):
            bound = self.binder(name.partition(".")[0].partition("[")[0], rebinding=False)
            if bound is not None:
                statement, source = bound
                candidates.append(Origin(place_of(statement), source, False, statement))
        creating = [one for one in candidates if isinstance(one.statement, tree.Assign) and creates(one.statement.value)]
        return next(iter(creating or candidates), None)


def statements_before(origins: Origins, name: str, kind: type[stmt]) -> Iterator[tuple[Span, Source]]:
    """Yield the place of the latest statement of a kind that (un)binds a name, if nothing bound it since."""
    if not origins.frames or not name:
        return
    step = origins.frames[-1].step
    unit = origins.machine.units.of(step.code)
    for one in [] if unit is None else [unit, *origins.machine.units.before(unit)]:
        found = [
            statement for statement in statements_of([one.stmt])
            if (one is not unit or statement.span[:2] < step.statement[:2]) and any(b == name for b, _ in bound_by(statement))
        ]
        if found:
            if isinstance(found[-1], kind):
                yield found[-1].span, one.source
            return


def function_at(top: stmt, step: "TraceStep") -> tree.FunctionDef | None:
    """Return the innermost function definition of the step's name around it."""
    best: tree.FunctionDef | None = None
    stack: list[SyntaxNode] = [top]
    line = step.span.line
    while stack:
        node = stack.pop()
        if isinstance(node, tree.FunctionDef) and node.name == step.function and node.span.line <= line <= node.span.end_line:
            best = node
        stack.extend(children(node))
    return best


def latest(body: list[stmt], name: str, before: Span | None, rebinding: bool = True) -> stmt | None:
    """Return the last statement of a block that binds the name above `before`, else the last below it in a loop around both."""
    binders = [
        statement for statement in statements_of(body)
        if any(bound == name for bound, _ in bound_by(statement))
        and not isinstance(statement, tree.Delete)
        and (rebinding or not isinstance(statement, tree.AugAssign))
        and statement.span != before
    ]
    above = [statement for statement in binders if before is None or statement.span[:2] < before[:2]]
    loops = [
        one.span for one in statements_of(body)
        if isinstance(one, tree.For | tree.While) and before is not None and _within(before, one.span)
    ]
    chosen = above or [statement for statement in binders if any(_within(statement.span, loop) for loop in loops)]
    return max(chosen, key=lambda statement: statement.span[:2]) if chosen else None


def _within(part: Span, whole: Span) -> bool:
    return whole[:2] <= part[:2] and part[2:] <= whole[2:]


def place_of(statement: stmt) -> Span:
    """Return what to underline of a statement: the whole of a simple one, the header of a compound one."""
    match statement:
        case tree.For():
            return statement.target.span.to(statement.iter.span)
        case tree.With():
            return statement.items[0].context_expr.span
        case tree.FunctionDef() | tree.ClassDef():
            span = statement.span
            return Span(span.line, span.column, span.line, span.column + len("def ") + len(statement.name))
        case tree.Assign():
            return statement.value.span
        case _:
            return statement.span


def creates(value: SyntaxNode) -> bool:
    """Tell whether an expression calls something."""
    return any(isinstance(part, tree.Call) for part in own_expressions(value))


def is_tensor(value: object) -> bool:
    """Tell whether a value is a tensor."""
    return isinstance(value, Tensor)


def _parts(value: object) -> Iterator[tuple[str, Any]]:
    """Yield (path, tensor) of the tensors directly in a container or a module."""
    if isinstance(value, list | tuple):
        yield from ((f"[{place}]", part) for place, part in enumerate(value[:1000]) if is_tensor(part))
    elif isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in list(value.items())[:1000] if is_tensor(part))
    elif is_module(value):
        yield from ((_PLACE.sub(r"[\1]", f".{name}"), part) for name, part in parameters_of(value))


_PLACE = re.compile(r"\.(\d+)(?=\.|$)")
"""The place of a layer in the name of its parameter (`2` of `net.2.weight`): a script writes `net[2].weight`."""


def path_in(name: str, holder: object, value: object) -> str | None:
    """Return how a container or module under `name` reaches a tensor, such as `fc.weight`."""
    for path, part in _parts(holder):
        if part is value:
            return name + path
    return None


def holds_tensor(value: object) -> bool:
    """Tell whether a value is a tensor or directly holds one."""
    return is_tensor(value) or any(True for _ in _parts(value))


def requires(value: Any) -> bool:
    """Tell whether a tensor, or one directly in a container or module, requires grad."""
    if is_tensor(value):
        return bool(value.requires_grad)
    return any(part.requires_grad for _, part in _parts(value))


def expression_at(unit: "Unit", span: Span) -> expr | None:
    """Return the outermost expression of a unit that covers exactly a span."""
    return node_at(unit, span, expr)


def node_at(unit: "Unit", span: Span, kind: type[_Kind]) -> _Kind | None:
    """Return the outermost node of a kind that covers exactly a span."""
    stack: list[SyntaxNode] = [unit.stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, kind) and node.span == span:
            return node
        if node.span[:2] <= span[:2] and span[2:] <= node.span[2:]:
            stack.extend(children(node))
    return None

