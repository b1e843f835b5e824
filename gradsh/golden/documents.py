"""Goldens in Markdown: each fence that is opened by exactly ```` ```grad ```` is a script with its expectations, or a session.

A session is what a shell showed: the text after `grad> ` and `....> ` is typed, the lines below are what it shows, on both streams.
Each fence is run by itself, and its lines are counted from its own first one. All other fences and the text around them are left alone.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from gradsh.contracts.events import Done, Event
from gradsh.golden.check import Checked, CheckedRun, Mismatch, Played, fresh_session, judge, lines_of, play
from gradsh.golden.compare import Tolerance, agree
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.run.read import Script, read_script
from gradsh.run.script import RunOptions
from gradsh.text.expectations import Expected

PROMPT, MORE = "grad> ", "....> "
MARK = re.compile(r"( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)")


class Fence(NamedTuple):
    """What stands in a fence of a document: the number of its first line, and its lines."""

    line: int
    lines: tuple[str, ...]

    @property
    def is_session(self) -> bool:
        """Whether it is what a shell showed."""
        return bool(self.lines) and self.lines[0].startswith(PROMPT)

    @property
    def text(self) -> str:
        """Its lines as one text."""
        return "".join(line + "\n" for line in self.lines)


class Turn(NamedTuple):
    """A turn of a session: its lines, what is typed, and what is shown."""

    line: int
    end_line: int
    typed: str
    shown: tuple[Expected, ...]


def is_document(path: str) -> bool:
    """Whether a path is that of a Markdown document."""
    return path.endswith((".md", ".markdown"))


def fences(text: str) -> Iterator[Fence]:
    """Yield the fences that hold scripts and sessions. One that is never closed reaches to the end, as Markdown has it."""
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        opening = MARK.fullmatch(lines[at])
        at += 1
        if opening is None:
            continue
        inside = tuple(takewhile(lambda line, mark=opening[2]: not _closes(line, mark), lines[at:]))  # type: ignore[misc]
        if opening[3].strip() == "grad" and not opening[1]:
            yield Fence(at + 1, inside)
        at += len(inside) + 1


def _closes(line: str, mark: str) -> bool:
    match = MARK.fullmatch(line)
    return match is not None and match[2].startswith(mark) and not match[3].strip()


def turns(fence: Fence) -> list[Turn]:
    """Return the turns of a session."""
    out: list[Turn] = []
    for number, line in enumerate(fence.lines, fence.line):
        if line.startswith(PROMPT.rstrip()):
            out.append(Turn(number, number, line.removeprefix(PROMPT.rstrip()).removeprefix(" "), ()))
        elif line.startswith(MORE.rstrip()):
            out[-1] = out[-1]._replace(typed=f"{out[-1].typed}\n{line.removeprefix(MORE.rstrip()).removeprefix(' ')}", end_line=number)
        else:
            out[-1] = out[-1]._replace(shown=(*out[-1].shown, Expected(number, "", line)))
    return out


def replies(
    script: Script, typed: Sequence[str], options: RunOptions, style: Style | None = None
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Type the texts into one session; yield the lines that each shows, and whether it passed."""
    session = fresh_session(script, options)
    line = 1
    for text in typed:
        shown: list[str] = []

        def emit(event: Event, shown: list[str] = shown) -> None:
            told = None if type(event) is Done else event_text(event, style or Style())
            if told is not None:
                shown.append(told[1])

        outcome = session.run(text, emit, first_line=line)
        if outcome.interrupted:
            raise KeyboardInterrupt
        line += text.count("\n") + 1
        yield lines_of(shown), outcome.status == 0


def play_all(script: Script, options: RunOptions) -> list[Played]:
    """Run a script, or each fence of a document, in a fresh session; lines are those of the file."""
    if not is_document(script.name):
        return [play(script, options)]
    return [_play_fence(script, fence, options) for fence in fences(script.text)]


def _play_fence(script: Script, fence: Fence, options: RunOptions) -> Played:
    if fence.is_session:
        said = turns(fence)
        shown = replies(script, [turn.typed for turn in said], options)
        return Played(tuple(CheckedRun(turn.line, turn.end_line, *one) for turn, one in zip(said, _runs(shown), strict=True)))
    played, by = play(Script(script.name, fence.text), options), fence.line - 1
    return played._replace(
        ran=tuple(one._replace(line=one.line + by, end_line=one.end_line + by) for one in played.ran), line=played.line + by,
        statements=tuple((first + by, last + by) for first, last in played.statements),
    )


def _runs(shown: Iterator[tuple[tuple[str, ...], bool]]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], bool]]:
    yield from ((lines, (), ok) for lines, ok in shown)


def judge_all(script: Script, played: Sequence[Played], tolerance: Tolerance, *, bare: bool = False) -> Checked:
    """Compare what a script, or each fence of a document, did with what it expects."""
    if not is_document(script.name) or script.unreadable:
        return judge(script, played[0] if played else Played(), tolerance, bare=bare)
    out = Checked(script.name, script.text, (), {}, (), tolerance, sum(one.seconds for one in played))
    for fence, one in zip(fences(script.text), played, strict=True):
        found = _judge_session(fence, one, out) if fence.is_session else judge(_padded(script, fence), one, tolerance)
        out = out._replace(
            ran=out.ran + one.ran, blocks=out.blocks | found.blocks, mismatches=out.mismatches + found.mismatches,
            tolerance=found.tolerance,
        )
    return out


def _padded(script: Script, fence: Fence) -> Script:
    """The fence as a script of its own, whose lines have the numbers that they have in the document."""
    return Script(script.name, "\n" * (fence.line - 1) + fence.text)


def _judge_session(fence: Fence, played: Played, document: Checked) -> Checked:
    found = []
    for turn, ran in zip(turns(fence), played.ran, strict=True):
        if not ran.ok and not any(one.text.startswith("error[") for one in turn.shown):
            found.append(Mismatch(ran.line, "failed", "the statement failed", turn.shown, ran.output))
        elif not agree(turn.shown, ran.output, document.tolerance):
            misread = any(line.startswith((PROMPT.rstrip(), MORE.rstrip(), "```", "~~~")) for line in ran.output)
            message = "the output reads as a prompt or a fence: it cannot stand here" if misread else "the output differs"
            found.append(Mismatch(ran.line, "script" if misread else "shown", message, turn.shown, ran.output))
    return document._replace(mismatches=tuple(found), blocks={})


def check_file(path: str, options: RunOptions, tolerance: Tolerance | None = None) -> Checked:
    """Run the script or document at `path` in this process and compare."""
    return check_text(read_script(path), options, tolerance)


def check_text(script: Script, options: RunOptions, tolerance: Tolerance | None = None) -> Checked:
    """Run a script or document in this process and compare."""
    return judge_all(script, play_all(script, options), tolerance or Tolerance())
