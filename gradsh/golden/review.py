"""`gradsh test --review`: shows each difference and asks whether the new output is right."""

import sys

from gradsh.golden.check import Checked
from gradsh.golden.report import details, diff_lines, painted
from gradsh.render.style import Style

QUESTION = "accept? [y]es, [n]o, [a]ll of this file, [s]kip this file, [q]uit: "


class Quit(KeyboardInterrupt):
    """The person had enough: what was accepted so far is kept."""


def review(tested: Checked, style: Style) -> frozenset[int]:
    """Ask about each difference of a script; return the first lines of the statements whose new output is right."""
    accepted: set[int] = set()
    for mismatch in tested.mismatches:
        place = f"{tested.path}:{mismatch.line}"
        _say(f"{style.paint('bold', place)}: {mismatch.message}", *details(mismatch))
        if mismatch.fault in {"script", "failed"}:
            continue
        one = tested._replace(mismatches=(mismatch,))
        _say(*(painted(line, style) for line in diff_lines(one)))
        answer = _ask()
        if answer in {"a", "y"}:
            accepted.add(mismatch.line)
        if answer == "a":
            return frozenset(accepted | {m.line for m in tested.mismatches})
        if answer == "s":
            break
        if answer == "q":
            break
    return frozenset(accepted)


def _say(*lines: str) -> None:
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.flush()


def _ask() -> str:
    while True:
        sys.stdout.write(QUESTION)
        sys.stdout.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower()[:1] if line else "q"
        if answer in {"y", "n", "a", "s", "q"}:
            return answer
