"""The scripts that a shell begins with: run whole (`gradsh -i FILE`), or statement by statement (`gradsh debug FILE`)."""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from gradsh.commands import GRAMMARS
from gradsh.commands.stepping import Debugger, is_name, line_asked
from gradsh.language.parser import parse
from gradsh.run.read import Script
from gradsh.run.script import furnish, scripts_of, unreadable
from gradsh.shell.host import Host
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source

_SHOWN = 8
"""Lines of a statement that are shown before it runs."""
_COMPARED = re.compile(r"(?<![\w.])([^\W\d]\w*)(?=\s*(?:==|!=|<|>|%))")
"""A variable that stands before a comparison."""
WORDS = (
    "next (n, Enter)    run the statement; of a block, go to its first",
    "step (s)           run to the next statement, also in a function that is called",
    "until WHERE (u)    run up to `line 30`, a statement with a name, or a condition such as `i > 3`",
    "break WHERE        stop there (`break` lists the stops, `break off` forgets them)",
    "continue (c)       run up to the next stop that `break` keeps",
    "quit (q, Ctrl-C)   leave the script; the prompt stays",
    "anything else      is evaluated: an expression, a statement, a command",
)


class Chunk(NamedTuple):
    """Statements of one line, from their first line to their last; the text from line `first` on, with the comments around them."""

    first: int
    line: int
    end_line: int
    text: str

    def lines(self) -> list[str]:
        """Return the lines of the statements."""
        return self.text.split("\n")[self.line - self.first : self.end_line - self.first + 1]


class ScriptStop(NamedTuple):
    """A statement before which a run may stop: its line, those of its header, in how many calls, the variables of a function."""

    line: int
    lines: list[str]
    depth: int
    local: Mapping[str, Any]


def begin_with_scripts(host: Host) -> None:
    """Run the scripts that the command line names; the first failure of one ends it, and its state stays."""
    for script in scripts_of(host.options) if host.options.files or host.options.code is not None else ():
        if script.unreadable:
            host.sink(unreadable(script))
            continue
        furnish(host.session, script, host.options)
        if host.options.stepped:
            _step_through(host, script)
        else:
            host.run_script(script.text, script.name)


def _step_through(host: Host, script: Script) -> None:
    session = host.session
    session.emit = host.sink
    try:
        chunks = list(_chunks(script, session.names_bound()))
    except ProblemError:  # told as it is when the script is run whole
        host.run_script(script.text, script.name)
        return
    stepper = _Statements(session.state)
    for chunk in chunks:
        lines = chunk.lines()
        stepper.come_to(ScriptStop(chunk.line, lines[:_header(lines)], 0, {}), lines)
        if stepper.left:
            return
        with _followed(host, stepper):
            passed = host.run_script(chunk.text, script.name, chunk.first)
        if not passed:
            return
    missed = f" before reaching {stepper.until}" if stepper.until else ""
    host.sink.show(f"{script.name} has ended{missed}\n")


def _chunks(script: Script, bound: Any) -> Iterator[Chunk]:
    source = Source(script.name, script.text)
    lines = script.text.split("\n")
    spans: dict[int, int] = {}
    for statement in parse(source, GRAMMARS, bound).body:
        first = next((line for line, end in spans.items() if line <= statement.span.line <= end), statement.span.line)
        spans[first] = max(spans.get(first, 0), statement.span.end_line)
    starts = [*spans, len(lines) + 1]
    for place, (line, end) in enumerate(spans.items()):
        first = line if place else 1
        yield Chunk(first, line, end, "\n".join(lines[first - 1 : starts[place + 1] - 1]))


def _numbered(first: int, lines: list[str]) -> list[str]:
    shown = [f"{number:>4} | {line}" for number, line in enumerate(lines[:_SHOWN], first)]
    return shown + ([f"     | … {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else [])


def _header(lines: list[str]) -> int:
    """Return how many lines a statement has before its block; all of one without."""
    return next((number for number, line in enumerate(lines, 1) if line.split("  #")[0].rstrip().endswith(":")), len(lines))


@contextmanager
def _followed(host: Host, stepper: "_Statements") -> Iterator[None]:
    """Stop within blocks and functions, too, while the statements of a chunk run."""
    machine: Any = host.session.machine
    last: dict[int, object] = {}
    """Frame -> the span of its last statement: the parts of one of several lines come again."""

    def on_call(frame: FrameType, event: str, arg: object) -> Any:
        del event, arg
        unit = machine.units.of(frame.f_code) if _is_own(frame, machine) else None
        if unit is None:
            return None
        last[id(frame)] = unit.stmt.span if _is_top(frame) else None  # it has stopped before that of the top level
        return on_line

    def on_line(frame: FrameType, event: str, arg: object) -> object:
        del arg
        code, line = frame.f_code, frame.f_lineno
        leaving = not _is_top(frame) and line == code.co_firstlineno  # what tells of calls is noted there
        if event == "line" and not stepper.left and not leaving:
            span = machine.units.statement(code, line)
            if span.line == line and span != last.get(id(frame)):
                source = machine.units.of(code).source
                lines = [source.line(number) for number in range(line, span.end_line + 1)]
                _stop_at(machine.program, stepper, ScriptStop(line, lines[:_header(lines)], _depth(frame, machine), _local(frame)))
                frame.f_locals  # noqa: B018  # read anew: before 3.13 Python writes the copy back, which a command may have emptied
            last[id(frame)] = span if span.line == line else last.get(id(frame))
        return on_line

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(before)


def _stop_at(program: dict[str, object], stepper: "_Statements", stop: ScriptStop) -> None:
    """Stop before a statement, unfollowed meanwhile. Raises KeyboardInterrupt where the script is left."""
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        with _reading(program, stop.local):
            stepper.come_to(stop, stop.lines)
        if stepper.left:
            raise KeyboardInterrupt
    finally:
        sys.settrace(trace)


@contextmanager
def _reading(program: dict[str, object], local: Mapping[str, object]) -> Iterator[None]:
    """Let the variables of a function be read as the program's own are."""
    hidden = {name: program[name] for name in local if name in program}
    program.update(local)
    try:
        yield
    finally:
        for name in local:
            program.pop(name, None)
        program.update(hidden)


def _is_top(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<module>"


def _is_own(frame: FrameType, machine: Any) -> bool:
    """Whether a frame runs the top level of a script or one of its functions, other than a comprehension or a lambda."""
    return frame.f_builtins is machine.builtins and (_is_top(frame) or frame.f_code.co_name[0] != "<")


def _depth(frame: FrameType | None, machine: object) -> int:
    """Return in how many calls of the script's functions a frame stands."""
    depth = -1
    while frame is not None:
        depth += _is_own(frame, machine)
        frame = frame.f_back
    return depth


def _local(frame: FrameType) -> dict[str, object]:
    """Return the variables of a function's frame; those of the top level are the program's."""
    return {} if _is_top(frame) else {name: value for name, value in frame.f_locals.items() if name.isidentifier()}


class _Statements(Debugger):
    """Stops before each statement of a script, within its blocks and functions, too."""

    prompt = "debug (next, until WHERE, quit, help)> "
    words = WORDS
    left = False
    """Whether the person has left the script."""
    most = 0
    """In how many calls a statement may stand for a stop that nothing else asks for."""

    def stops(self, place: ScriptStop) -> bool:
        """Whether the run is to stop at a place: not within a call that `next` runs."""
        within = place.depth > self.most and not self.until and not self.free
        return self._breaks_at(place) if within else super().stops(place)

    def come_to(self, place: ScriptStop, lines: list[str]) -> None:
        """Show the lines of a statement and ask how to go on, if the run is to stop there."""
        if self.stops(place):
            self.control.show(_numbered(place.line, lines))
            self.converse(place)

    def converse(self, place: ScriptStop) -> None:
        """Ask until an answer lets the run go on."""
        self.most = place.depth
        super().converse(place)

    def command(self, place: ScriptStop, word: str, rest: str) -> bool | None:
        """Follow `step`: stop in a call, too."""
        if word not in {"s", "step"} or rest or word in self.state.variables:
            return None
        self.most = sys.maxsize
        return True

    def reached(self, place: ScriptStop, condition: str) -> bool | None:
        """Whether the next statement stands on a line, or has a name."""
        line = line_asked(condition)
        if line is not None:
            return place.line <= line < place.line + len(place.lines)
        pattern = rf"(?<![\w.]){re.escape(condition)}(?!\w)"
        return any(re.search(pattern, one) for one in place.lines) if is_name(condition) else None

    def meets(self, place: ScriptStop, condition: str) -> bool:
        """Whether a place meets a condition: not where a variable that it compares is not there, as in another function."""
        there = all(name in self.state.variables for name in _COMPARED.findall(condition))
        return super().meets(place, condition) if there or self.reached(place, condition) is not None else False

    def names(self, place: ScriptStop) -> Mapping[str, Any]:
        """Return nothing: what can be read there is among the program's names."""
        del place
        return {}

    def quit(self, answered: bool) -> bool:
        """Leave the script."""
        del answered
        self.left = True
        return True
