"""The scripts that a shell begins with: run whole (`gradsh -i FILE`), or statement by statement (`gradsh debug FILE`)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradsh.commands import GRAMMARS
from gradsh.commands.stepping import Debugger, is_name, line_asked
from gradsh.language.parser import parse
from gradsh.run.script import Script, furnish, scripts_of, unreadable
from gradsh.shell.host import Host
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source

_SHOWN = 8
"""Lines of a statement that are shown before it runs."""
WORDS = (
    "next (n, Enter)    run the statement",
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
        if stepper.stops(chunk):
            host.sink.show("".join(f"{line}\n" for line in _lines(chunk)))
            stepper.converse(chunk)
        if stepper.left or not host.run_script(chunk.text, script.name, chunk.first):
            return
    host.sink.show(f"{script.name} has ended\n")


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


def _lines(chunk: Chunk) -> list[str]:
    lines = chunk.lines()
    shown = [f"{number:>4} | {line}" for number, line in enumerate(lines[:_SHOWN], chunk.line)]
    return shown + ([f"     | … {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else [])


class _Statements(Debugger):
    """Stops before each statement of a script."""

    prompt = "debug (next, until WHERE, quit, help)> "
    words = WORDS
    left = False
    """Whether the person has left the script."""

    def reached(self, place: Chunk, condition: str) -> bool | None:
        """Whether the next statement stands on a line, or has a name."""
        line = line_asked(condition)
        if line is not None:
            return place.line <= line <= place.end_line
        pattern = rf"(?<![\w.]){re.escape(condition)}(?!\w)"
        return any(re.search(pattern, one) for one in place.lines()) if is_name(condition) else None

    def names(self, place: Chunk) -> Mapping[str, Any]:
        """Return nothing: the script's own names are there."""
        del place
        return {}

    def quit(self, answered: bool) -> bool:
        """Leave the script."""
        del answered
        self.left = True
        return True
