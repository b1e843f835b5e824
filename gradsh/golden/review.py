"""`gradsh review` and `gradsh test --review`: shows pending differences one by one, and does with each what it is told.

Answers come from a terminal, key by key, or from a pipe, line by line.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from gradsh.golden import pending
from gradsh.golden.pending import Pending, PendingChange
from gradsh.golden.report import painted_diff
from gradsh.process.signals import Raising
from gradsh.render.style import Style, printable, style_for
from gradsh.run.script import DONE, FAILED, INTERRUPTED, UNREADABLE

Bulk = Literal["", "accept", "reject", "list"]
ANSWERS = {
    "a": "accept", "r": "reject", "e": "edit", "s": "skip", "A": "accept all that is left of this file", "q": "quit",
}
QUESTION = ", ".join(f"[{key}]{words.removeprefix(key)}" if words.startswith(key) else f"[{key}] {words}" for key, words in ANSWERS.items())
AROUND = 3
"""Lines that are shown before a difference."""


class Decided(NamedTuple):
    """What became of the differences of a file, and whether the person wants no more questions."""

    accepted: list[PendingChange]
    left: list[PendingChange]
    over: bool = False


def review(paths: Sequence[str], bulk: Bulk = "", *, plain: bool = False) -> int:
    """Decide about the pending differences below the paths; return the exit status: 1 where some are left."""
    try:
        with Raising():
            return _review(paths, bulk, plain)
    except KeyboardInterrupt:
        _say("", "interrupted: what is not named above is as it was")
        return INTERRUPTED


def _review(paths: Sequence[str], bulk: Bulk, plain: bool) -> int:
    if bulk not in {"list", "reject"} and os.environ.get("CI"):
        sys.stderr.write("gradsh review: goldens are not rewritten where CI is set; --list shows what is pending\n")
        return UNREADABLE
    style = style_for(sys.stdout, plain=plain)
    left = count = 0
    over = False
    for path in list(pending.below(paths)):
        try:
            found = pending.read(path)
            still, over = (len(found.differences), True) if over else review_one(found, bulk, style)
        except (OSError, ValueError) as error:
            sys.stderr.write(f"gradsh review: {getattr(error, 'strerror', None) or error}\n")
            return UNREADABLE
        count += len(found.differences)
        left += still
    _say(f"{count - left} decided, {left} pending" if count else "nothing is pending")
    return FAILED if left else DONE


def review_one(found: Pending, bulk: Bulk, style: Style) -> tuple[int, bool]:
    """Decide about the differences of one script; return how many are left, and whether to ask no more. Raises OSError."""
    changed = found.changed()
    if changed and bulk != "reject":
        _say(f"{found.path}: {changed} has changed since; `gradsh test --pending {found.script}` shows what differs now")
        return len(found.differences), False
    decided = _decide(found, bulk, style)
    if bulk != "list":
        found.decided(decided.accepted, decided.left)
        for name in sorted({one.file for one in decided.accepted}):
            _say(f"updated {found.script.with_name(name)}")
    return len(decided.left), decided.over


def _decide(found: Pending, bulk: Bulk, style: Style) -> Decided:
    out = Decided([], [])
    rest = list(found.differences)
    while rest:
        one = rest.pop(0)
        number = len(found.differences) - len(rest)
        place = style.paint("bold", printable(f"{found.script}:{one.line}"))
        _say(f"{place}: {printable(one.message)} ({number} of {len(found.differences)})", *_shown(found, one, style))
        answer = {"accept": "a", "reject": "r", "list": "s"}.get(bulk) or _ask()
        while answer == "e":
            one, done = _edited(one)
            answer = "a" if done else _ask()
        if answer in {"a", "A"}:
            out.accepted.append(one)
        elif answer in {"s", "q"}:
            out.left.append(one)
        if answer == "A":
            out.accepted.extend(rest)
            break
        if answer == "q":
            out.left.extend(rest)
            return out._replace(over=True)
    return out


def _shown(found: Pending, one: PendingChange, style: Style) -> list[str]:
    """The difference as a part of a unified diff."""
    try:
        lines = found.script.with_name(one.file).read_text(encoding="utf-8").split("\n")
    except OSError:
        lines = []
    start = max(0, one.at - 1 - AROUND)
    before, after = lines[start : one.at - 1], lines[one.at - 1 + len(one.old) :][:1]
    head = f"@@ {one.file} line {one.at} @@"
    return painted_diff([
        head, *(f" {line}" for line in before), *(f"-{line}" for line in one.old), *(f"+{line}" for line in one.new),
        *(f" {line}" for line in after if line),
    ], style)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.flush()


def _ask() -> str:
    while True:
        sys.stdout.write(f"{QUESTION}? ")
        sys.stdout.flush()
        answer = _key()
        if answer in ANSWERS:
            return answer


def _key() -> str:
    """Return a key that is pressed on a terminal, or the first letter of a line of a pipe; q at its end."""
    import termios
    import tty

    try:
        handle = sys.stdin.fileno()
        before = termios.tcgetattr(handle)
    except (OSError, ValueError, termios.error):
        line = sys.stdin.readline()
        return line.strip()[:1] if line else "q"
    try:
        tty.setcbreak(handle, termios.TCSANOW)  # what is typed already stays
        answer = os.read(handle, 1).decode(errors="replace")
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
    _say(answer if answer.isprintable() else "")
    return answer if answer not in {"", "\x04"} else "q"


def _edited(one: PendingChange) -> tuple[PendingChange, bool]:
    """Let the person's editor change the new lines; return the difference, and whether that worked."""
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, one.file)
        file.write_text("".join(line + "\n" for line in one.new), encoding="utf-8")
        try:
            ended = subprocess.run([*editor, str(file)], check=False).returncode
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            _say(f"cannot edit with {' '.join(editor)}: {getattr(error, 'strerror', None) or error}")
            return one, False
    if ended:
        _say(f"{' '.join(editor)} ended with status {ended}: nothing is changed")
        return one, False
    return one._replace(new=tuple(text.removesuffix("\n").split("\n")) if text else ()), True
