"""`gradsh test --review`: shows each difference and asks whether the new output is right."""

import sys

from gradsh.golden.check import Checked
from gradsh.golden.report import details, diff_lines, painted
from gradsh.render.style import Style

QUESTION = "accept? [y]es, [n]o, [a]ll the rest of this file, [s]kip the rest of this file, [q]uit: "


def review(tested: Checked, style: Style) -> tuple[frozenset[int], bool]:
    """Ask about each difference of a script.

    Return the first lines of the statements whose new output is right, and whether the person wants no more questions.
    """
    accepted: set[int] = set()
    count = len(tested.mismatches)
    for number, mismatch in enumerate(tested.mismatches):
        place = style.paint("bold", f"{tested.path}:{mismatch.line}")
        _say(f"{place}: {mismatch.message} ({number + 1} of {count})", *details(mismatch))
        if mismatch.fault in {"script", "failed"}:
            continue
        one = tested._replace(mismatches=(mismatch,))
        _say(*(painted(line, style) for line in diff_lines(one)))
        answer = _ask()
        if answer == "y":
            accepted.add(mismatch.line)
        elif answer == "a":
            accepted.update(one.line for one in tested.mismatches[number:])
        if answer in {"a", "s", "q"}:
            return frozenset(accepted), answer == "q"
    return frozenset(accepted), False


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
