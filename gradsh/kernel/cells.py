"""A session whose texts are the cells of a notebook: what they show, how they fail, what stands at the cursor.

It knows neither ipykernel nor IPython: text goes to `sys.stdout` and `sys.stderr`, everything else to `show`.
"""

import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from gradsh.commands.help import about
from gradsh.contracts.events import Event, Failure, Print, Result, Value
from gradsh.engine.ambient import enter
from gradsh.render.diagnostic import draw
from gradsh.render.html import PLAIN, bundle_of
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.run.script import Interruptible
from gradsh.run.sinks import write_result
from gradsh.session.session import Session
from gradsh.shell.asked import asked
from gradsh.shell.candidates import Candidates
from gradsh.shell.context import context
from gradsh.shell.signature import shown_for

Show = Callable[[dict[str, Any], bool], None]
"""Shows a bundle of MIME types; True for the value of an expression."""
_NAME_BEFORE, _NAME_AFTER = re.compile(r"[^\W\d][\w.]*\Z"), re.compile(r"\w*")


class CellFailure(NamedTuple):
    """How a cell failed: the kind of the error, its message, and the story as coloured lines."""

    kind: str
    message: str
    lines: list[str]


class Completion(NamedTuple):
    """What a word may become: the offset at which it begins, and each text with a few words on it."""

    start: int
    found: list[tuple[str, str]]


class Cells:
    """One session, cell after cell."""

    def __init__(self, show: Show) -> None:
        self.show = show
        self.session = Session(typed=True)
        values = self.session.state.settings.values
        self.session.state.settings.values = {**values, "hints": True}
        self._candidates = Candidates(self.session)

    # ------------------------------------------------------------------ running

    def run(self, text: str, number: int, first_line: int = 1) -> CellFailure | None:
        """Run the cell of a number, whose text begins at a line of it; return how it failed, if it did."""
        style = Style(colour=True, file=f"cell {number}")
        failed: list[CellFailure] = []

        def emit(event: Event) -> None:
            if isinstance(event, Failure) and not event.expected:
                story = draw(event.problem, event.source, style)
                failed.append(CellFailure(event.problem.kind, event.problem.title or event.problem.message, story))
            else:
                self._emit(event, style)

        try:
            with Interruptible(self.session):
                outcome = self.session.run(asked(text), emit, name=style.file, first_line=first_line)
        except KeyboardInterrupt:  # the second one
            return CellFailure("interrupt", "interrupted", [*_lines(failed), "interrupted"])
        except Exception as error:  # noqa: BLE001  # a fault of ours must not take the session along
            words = f"gradsh itself failed: {type(error).__name__}: {error}"
            told = [*_lines(failed), f"error[other]: {words}", "  help: this is a bug; report it with your cell"]
            return CellFailure("other", words, told)
        return failed[-1]._replace(lines=_lines(failed)) if failed and outcome.status else None

    def _emit(self, event: Event, style: Style) -> None:
        if isinstance(event, Result):
            if event.output:
                write_result(event, Style())
            elif (bundle := bundle_of(event))[PLAIN]:
                self._show(bundle, is_value=False)
            return
        told = event_text(event, Style() if isinstance(event, Print | Value) else style)
        if isinstance(event, Value) and told is not None:
            self._show({PLAIN: told[1].removesuffix("\n")}, is_value=True)
        elif told is not None:
            stream, other = (sys.stdout, sys.stderr) if told[0] == "out" else (sys.stderr, sys.stdout)
            other.flush()  # in a notebook each holds back what is written
            stream.write(told[1])

    def _show(self, bundle: dict[str, object], *, is_value: bool) -> None:
        """Show a bundle behind the text that was written before it."""
        sys.stdout.flush()
        sys.stderr.flush()
        self.show(bundle, is_value)

    # ------------------------------------------------------------------ what stands at the cursor

    def complete(self, code: str, cursor: int) -> Completion:
        """Return what may stand at the cursor."""
        with enter(self.session.ambient):
            word, found = self._candidates.at(code[:cursor])
            return Completion(cursor - len(word), [(one.text, one.meta()) for one in found])

    def inspect(self, code: str, cursor: int) -> str:
        """Return the signature and the help for the name at the cursor, else for the call around it; nothing for neither."""
        before, after = code[:cursor], code[cursor:]
        with enter(self.session.ambient):
            name = _name_at(before, after)
            call = context(before, self.session.names_bound()).call
            if not name and call is not None:
                name = ".".join(text for _, text in call.callee)
            signature = shown_for(self.session, before, after)
            lines = about(self.session.state, name) if name else []
        told = f"{signature.before}{signature.here}{signature.after}" if signature is not None and not lines else ""
        return "\n".join([told] * bool(told) + lines)

    def is_complete(self, code: str) -> tuple[bool, str]:
        """Return whether a text can be run as it stands, and the indent of the next line where it cannot."""
        if self.session.is_complete(code):
            return True, ""
        last = code.rstrip().rpartition("\n")[2]
        return False, last[: len(last) - len(last.lstrip())] + "    " * last.endswith(":")


def _lines(failed: list[CellFailure]) -> list[str]:
    return [line for one in failed for line in one.lines]


def _name_at(before: str, after: str) -> str:
    """Return the dotted name that the cursor touches."""
    found = _NAME_BEFORE.search(before)
    rest = _NAME_AFTER.match(after)
    return (found[0] if found else "") + (rest[0] if rest else "")
