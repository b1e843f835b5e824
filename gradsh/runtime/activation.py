"""Where a script stands: the activation (calls and loop passes that led here), the code and an instruction offset.

An activation is a plain tuple (parent, pass number, code of the call site, offset of the call site): a call has pass number 0 and a
site, a pass of a loop has a number and no site. A call of a module has pass number 0, no site and, in place of the offset,
(the module as a weak reference, its class). One is made per call of a script's function or a module and per pass of a loop, never
per operation; a generator makes none, since it stops in the middle of its loops and runs on under another caller.
"""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import CodeType
from typing import Any

from gradsh.compiler import runtime_names as names
from gradsh.compiler.lower import Unit, characters
from gradsh.compiler.scopes import children
from gradsh.language.node import SyntaxNode, stmt
from gradsh.language.tree import For, With
from gradsh.text.fault import Fault, interruption
from gradsh.text.span import Source, Span
from gradsh.text.tuples import NamedTuple

Activation = tuple[Any, int, Any, int]
Where = tuple[Activation, Any, int]
ROOT: Activation = (None, 0, None, -1)


class CallSite(NamedTuple):
    """A call on the way to a place: where it was made, in which pass of a loop there (0: none), and of which function."""

    span: Span
    iteration: int
    function: str
    source: Source


class Place(NamedTuple):
    """A place in a script: the expression, its source, the calls that led there (outermost first), the loop's pass.

    `statement` is the innermost statement around it; `passes` are the numbers of all loops around it, outermost first.
    """

    span: Span
    source: Source
    calls: tuple[CallSite, ...]
    iteration: int
    statement: Span
    passes: tuple[int, ...]


class Stopped(BaseException):
    """A limit was reached; not an Exception, so that a script's own handlers rarely see it. `reason` is a sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Errand:
    """Stands in the place of an interrupt: what the program does at its next tick, before it goes on."""

    __slots__ = ("run",)

    def __init__(self, run: Callable[[], None]) -> None:
        self.run = run


class ExecutionState:
    """The activation now, and what must happen at the next tick; generated code reports to its methods.

    A frame is the script's if it runs with the machine's builtins, whichever of the program's files it belongs to.
    """

    __slots__ = ("activation", "code", "failing", "frame", "stop", "where")

    def __init__(self, builtins: dict[str, Any]) -> None:
        self.activation: Activation = ROOT
        self.failing: tuple[int, Activation] = (0, ROOT)
        """The id of the exception on its way, and the activation in which it was raised."""
        self.stop: Any = None
        """Raised at the next call, loop pass or backward step; stays until the statement ends."""
        self.code: Any = None
        """The code that was running when somebody asked for the place last: a loop asks for the same one again and again."""
        self.frame: Any = None
        """The frame of the top-level statement, while it is that which asks."""
        self.where = self._locator(builtins)

    def _locator(self, builtins: dict[str, object]) -> Callable[[], Where | None]:
        frame_at = sys._getframe
        progress = self
        def where() -> Where | None:
            """Return the place of the innermost frame of the script, or None outside of any.

            Its caller must not be the script itself: to look at a frame more would cost half as much as all the rest.
            """
            frame = frame_at(2)
            code = frame.f_code
            if code is not progress.code:
                try:
                    while frame.f_builtins is not builtins:
                        frame = frame.f_back  # type: ignore[assignment]
                except AttributeError:
                    return None
                progress.code = code = frame.f_code
                progress.frame = frame if code.co_name == "<module>" else None  # that of a function would outlive it
            return (progress.activation, code, frame.f_lasti)

        return where

    def hooks(self, builtins: dict[str, Any]) -> dict[str, Callable[[], object]]:
        """Return the helpers by which generated code tells of calls and loops."""
        return self._call_hooks(builtins) | self._loop_hooks()

    def _call_hooks(self, builtins: dict[str, object]) -> dict[str, Callable[[], object]]:
        progress = self
        frame_at = sys._getframe
        caller = None

        def enter() -> None:
            """Note a call of a script's function, made from the nearest frame of the script below it."""
            if progress.stop is not None:
                progress.halt()
            nonlocal caller
            frame = frame_at(2)
            code = frame.f_code
            if code is not caller:
                try:
                    while frame.f_builtins is not builtins:
                        frame = frame.f_back  # type: ignore[assignment]
                except AttributeError:  # called by the session itself, as a hook or a command does
                    progress.activation = (progress.activation, 0, None, -1)
                    return
                caller = code = frame.f_code
            progress.activation = (progress.activation, 0, code, frame.f_lasti)

        def leave() -> None:
            """Note that a function was left, in whatever way."""
            progress.activation = progress.activation[0] or ROOT

        return {names.ENTER: enter, names.LEAVE: leave}

    def _loop_hooks(self) -> dict[str, Callable[[], object]]:
        progress = self

        def unwind() -> None:
            """Note that an exception leaves a function or a loop: the innermost one is where it was raised."""
            error = sys.exception()
            if error is not None and id(error) != progress.failing[0]:
                progress.failing = (id(error), progress.activation)

        def finish() -> None:
            """Note that a loop was left, in whatever way."""
            unwind()
            progress.activation = progress.activation[0] or ROOT

        def loop() -> None:
            """Note that a loop begins."""
            progress.activation = (progress.activation, 0, None, 0)

        def advance() -> None:
            """Note a pass of the innermost loop."""
            parent, number, site, offset = progress.activation
            progress.activation = (parent, number + 1, site, offset)
            if progress.stop is not None:
                progress.halt()

        def tick() -> bool:
            """Let a limit or an interrupt take effect."""
            if progress.stop is not None:
                progress.halt()
            return True

        return {names.UNWIND: unwind, names.LOOP: loop, names.FINISH: finish, names.PASS: advance, names.TICK: tick}

    def halt(self, *, over: bool = False) -> None:
        """Raise what was asked for, so that a backward pass can note on it what it had done, and whether the statement was over."""
        asked = self.stop
        if type(asked) is Errand:
            if self.stop is asked:  # an interrupt may have come in between
                self.stop = None
            asked.run()
        elif asked is KeyboardInterrupt:
            raise interruption(over=over)
        elif asked is not None:
            asked.fault = Fault("limit", {"over": over})
            raise asked


class Units:
    """The compiled statements of a session, found again by the file name that their code objects carry."""

    def __init__(self) -> None:
        self._units: dict[str, Unit] = {}
        self._forgotten = 0
        """How many of them belong to what the session was before it began anew."""
        self._spans: dict[tuple[int, int], tuple[Any, Span]] = {}
        self._statements: dict[str, dict[int, Span]] = {}
        self._headers: dict[str, dict[Span, Span]] = {}

    def __len__(self) -> int:
        return len(self._units)

    def add(self, filename: str, unit: Unit) -> None:
        """Keep a unit."""
        self._units[filename] = unit

    def forget(self) -> None:
        """Let the program begin anew; what is left of the old one is still found by its code."""
        self._forgotten = len(self._units)

    def numbered(self, number: int) -> Unit | None:
        """Return the unit of a number, None for one that was never compiled."""
        return self._units.get(f"<gradsh {number}>")

    def all(self) -> Iterator[Unit]:
        """Yield all units of the program, latest first."""
        return islice(reversed(self._units.values()), len(self._units) - self._forgotten)

    def before(self, unit: Unit) -> Iterator[Unit]:
        """Yield the units that were compiled before one, latest first."""
        found = False
        for other in self.all():
            if found:
                yield other
            found = found or other is unit

    def of(self, code: Any) -> Unit | None:
        """Return the unit that a code object belongs to."""
        return self._units.get(code.co_filename)

    def owns(self, code: CodeType) -> bool:
        """Tell whether a code object was compiled for this session."""
        unit = self.of(code)
        if unit is None:
            return False
        stack = [unit.code]
        while stack:
            one = stack.pop()
            if one is code:
                return True
            stack += [inner for inner in one.co_consts if hasattr(inner, "co_consts")]
        return False

    def span(self, code: CodeType, offset: int) -> Span:
        """Return the exact expression at an instruction, or its statement where Python keeps no columns."""
        key = (id(code), offset)
        found = self._spans.get(key)
        if found is None:  # the code is kept beside the span, so that its id stays its own
            found = self._spans[key] = (code, self._find(code, offset))
        return found[1]

    def _find(self, code: CodeType, offset: int) -> Span:
        unit = self._units[code.co_filename]
        line, end_line, column, end_column = next(islice(code.co_positions(), max(offset, 0) // 2, None), (None,) * 4)
        if line is None:
            return self._top(unit)
        if column is None or end_line is None or end_column is None:
            return self.statement(code, line)
        source = unit.source
        start = characters(source.line(line), column) + 1
        end = characters(source.line(end_line), end_column) + 1
        span = Span(line, start, end_line, end)
        return self._header(code.co_filename, unit).get(span, span)

    def _header(self, filename: str, unit: Unit) -> dict[Span, Span]:
        """Return the spans of a unit's loops and `with` blocks, each with that of the expression that can fail in its header.

        Some versions of Python note the whole statement, body and all, for what its header does.
        """
        table = self._headers.get(filename)
        if table is None:
            table = self._headers[filename] = {}
            stack: list[SyntaxNode] = [unit.stmt]
            while stack:
                node = stack.pop()
                if isinstance(node, For):
                    table[node.span] = node.iter.span
                elif isinstance(node, With):
                    table[node.span] = node.items[-1].context_expr.span
                stack.extend(children(node))
        return table

    @staticmethod
    def _top(unit: Unit) -> Span:
        return unit.stmt.span

    def statement(self, code: Any, line: int) -> Span:
        """Return the innermost statement that covers a line of the unit of `code`."""
        unit = self._units[code.co_filename]
        table = self._statements.get(code.co_filename)
        if table is None:
            table = self._statements[code.co_filename] = dict(statement_lines(unit.stmt))
        return table.get(line, Span(line, 1, line, len(unit.source.line(line)) + 1))


def statement_lines(top: stmt) -> Iterator[tuple[int, Span]]:
    """Yield (line, statement) for every line of every statement, outer ones first."""
    stack: list[SyntaxNode] = [top]
    while stack:
        node = stack.pop()
        if isinstance(node, stmt):
            for line in range(node.span.line, node.span.end_line + 1):
                yield line, node.span
        stack.extend(reversed(list(children(node))))


class Scope(NamedTuple):
    """One level of what runs at a place: a call of a function, or a pass of a loop.

    `series` is the same for all calls of a function and for all passes of a loop; `instance` tells them apart.
    """

    series: tuple[Any, ...]
    instance: tuple[Any, ...]
    label: str


def scopes(where: Where, known: dict[tuple[int, int], tuple[Scope, ...]] | None = None) -> tuple[Scope, ...]:
    """Return the calls and loop passes that a place lies in, outermost first; `known` keeps them while the places are alive."""
    known = {} if known is None else known
    above: list[tuple[Activation, Any]] = []
    current, inner, _ = where
    while (found := known.get((id(current), id(inner)))) is None:
        if current is None:
            found = ()
            break
        above.append((current, inner))
        current, _, site, _ = current
        if site is not None:
            inner = site
    for current, inner in reversed(above):
        parent, number, site, _ = current
        if site is not None:
            found += (Scope(("call", inner.co_name, id(inner)), (id(current),), f"{inner.co_name}()"),)
        elif number:
            found += (Scope(("loop", id(parent), id(inner)), (id(parent), number), "loop"),)
        known[id(current), id(inner)] = found
    return found


def describe(units: Units, where: Where) -> Place:
    """Return the place that an opaque `where` stands for."""
    activation, code, offset = where
    span = units.span(code, offset)
    calls: list[tuple[Any, int, str, list[int]]] = []
    passes: list[int] = []
    level = passes
    inner = code
    current: Activation | None = activation
    while current is not None:
        parent, number, site, at = current
        if site is not None:
            level = []
            calls.append((site, at, inner.co_name, level))
            inner = site
        elif number:
            level.append(number)
        current = parent
    path = tuple(
        CallSite(units.span(site, at), numbers[0] if numbers else 0, name, _source(units, site))
        for site, at, name, numbers in reversed(calls)
    )
    statement = units.statement(code, span.line)
    return Place(span, _source(units, code), path, passes[0] if passes else 0, statement, tuple(reversed(passes)))


def circumstances(place: Place) -> str:
    """Say in which pass of a loop, and called from where, a place was reached; empty for a line that is run once."""
    parts = [_passes(place.passes)] if place.passes else []
    if place.calls:
        call = place.calls[-1]
        of = "" if call.source.name == place.source.name else f" of {call.source.name.rpartition('/')[2]}"
        parts.append(f"called from line {call.span.line}{of}" + (f", iteration {call.iteration}" if call.iteration else ""))
    return f" ({', '.join(parts)})" if parts else ""


def _passes(numbers: tuple[int, ...]) -> str:
    """Say in which pass of each loop, given outermost first."""
    if len(numbers) == 1:
        return f"iteration {numbers[0]} of the loop"
    if len(numbers) == 2:
        return f"iteration {numbers[1]} of the inner loop, {numbers[0]} of the outer"
    return f"iterations {', '.join(map(str, numbers))} of the loops, outermost first"


def _source(units: Units, code: object) -> Source:
    unit = units.of(code)
    return unit.source if unit is not None else Source("", "")
