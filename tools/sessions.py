"""Sessions made of examples: their statements after prompts, and what they show."""

from gradsh.commands import GRAMMARS
from gradsh.golden.documents import MORE, PROMPT, check_text
from gradsh.golden.report import failure_lines
from gradsh.golden.update import proposed
from gradsh.language.parser import parse
from gradsh.render.style import Style
from gradsh.run.read import Script
from gradsh.run.script import RunOptions
from gradsh.text.span import Source

OPENING, CLOSING = "```grad\n", "```\n"


def refreshed(text: str, name: str = "example.md", *, may_fail: bool = False) -> str:
    """Return a document with what its scripts and sessions show today; what still holds stays as it is written.

    A failure that is not announced is not recorded unless it `may_fail`.
    """
    checked = check_text(Script(name, text), RunOptions())
    faults = {one.fault for one in checked.mismatches}
    if may_fail:
        checked = checked._replace(mismatches=tuple(one._replace(fault="shown") for one in checked.mismatches))
    elif faults & {"failed", "script"}:
        raise SystemExit("\n".join(failure_lines(checked, Style())))
    return proposed(checked).text


def session_of(script: str) -> str:
    """Return a script as a fence that holds a session."""
    program = parse(Source("example.grad", script), GRAMMARS)
    typed = ""
    for statement in program.body:
        lines = [program.source.line(n) for n in range(statement.span.line, statement.span.end_line + 1)]
        typed += PROMPT + ("\n" + MORE).join(lines) + "\n"
    return refreshed(OPENING + typed + CLOSING, may_fail=True)
