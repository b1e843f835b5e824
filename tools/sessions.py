"""Sessions in documents: what is typed after the prompts, and what the shell shows. They can be run and refreshed."""

import re
from collections.abc import Iterator

from gradsh.commands import GRAMMARS
from gradsh.contracts.events import Done, Event
from gradsh.golden.compare import Tolerance, agree
from gradsh.language.parser import parse
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.session.session import Session
from gradsh.text.expectations import Expected
from gradsh.text.span import Source

PROMPT, MORE = "grad> ", "....> "
FENCE = re.compile(r"^```grad\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def turns(text: str) -> list[tuple[str, list[str]]]:
    """Return (what is typed, the lines shown) for each turn of a session."""
    out: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(PROMPT):
            out.append((line.removeprefix(PROMPT), []))
        elif line.startswith(MORE.rstrip()):
            out[-1] = (out[-1][0] + "\n" + line.removeprefix(MORE), [])
        else:
            out[-1][1].append(line)
    return out


def replies(typed: list[str], style: Style | None = None) -> Iterator[list[str]]:
    """Type the texts into one session; yield the lines that each shows."""
    session = Session()
    line = 1
    for text in typed:
        shown: list[str] = []

        def emit(event: Event, shown: list[str] = shown) -> None:
            told = None if isinstance(event, Done) else event_text(event, style or Style())
            if told is not None:
                shown.append(told[1])

        session.run(text, emit, first_line=line)
        line += text.count("\n") + 1
        yield "".join(shown).splitlines()


def wrong_turns(text: str) -> list[str]:
    """Return a description of each turn of a session that does not show what it says."""
    said = turns(text)
    out = []
    for (typed, shown), actual in zip(said, replies([typed for typed, _ in said]), strict=True):
        if not agree([Expected(0, "#>", line) for line in shown], actual, Tolerance()):
            out.append("\n".join([f"{PROMPT}{typed}", "shows", *actual]))
    return out


def refreshed(text: str, *, may_fail: bool = False) -> str:
    """Return a session with what it shows today; turns that still hold stay as they are written.

    A failure that is not announced (by a line `error[KIND]` below what is typed) is not recorded unless it `may_fail`.
    """
    said = turns(text)
    out: list[str] = []
    for (typed, shown), actual in zip(said, replies([typed for typed, _ in said]), strict=True):
        out += (PROMPT + typed.replace("\n", "\n" + MORE)).split("\n")
        holds = agree([Expected(0, "#>", line) for line in shown], actual, Tolerance())
        if _fails(actual) and not _fails(shown) and not may_fail:
            raise SystemExit("\n".join([f"{PROMPT}{typed}", "fails, unannounced:", *actual]))
        out += shown if holds else actual
    return "".join(line.rstrip() + "\n" for line in out)


def _fails(shown: list[str]) -> bool:
    return any(line.startswith("error[") for line in shown)


def session_of(script: str) -> str:
    """Return a script as a session: its statements after prompts, and what they show."""
    program = parse(Source("example.grad", script), GRAMMARS)
    out = ""
    for statement in program.body:
        lines = [program.source.line(n) for n in range(statement.span.line, statement.span.end_line + 1)]
        out += PROMPT + ("\n" + MORE).join(lines) + "\n"
    return refreshed(out, may_fail=True)
