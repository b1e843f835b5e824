"""Says how golden tests went, for people: the differences, the summary, what was slow."""

import difflib
import re
from collections.abc import Sequence
from itertools import takewhile

from gradsh.golden.check import Checked, Mismatch
from gradsh.golden.update import proposed
from gradsh.render.style import Style, printable

MOST_PAIRS = 1_000_000
"""Pairs of words of two lines; beyond, it is not looked for those that differ."""


def failure_lines(tested: Checked, style: Style) -> list[str]:
    """Return what a person needs to see of a failed script: what differs, and the differences as one unified diff."""
    out = []
    for mismatch in tested.mismatches:
        place = f"{tested.path}:{mismatch.line}" if mismatch.line else tested.path
        out.append(f"{style.link(style.paint('bold', place), tested.path)}: {mismatch.message}")
        out += details(mismatch)
    return out + painted_diff(diff_lines(tested), style)


def details(mismatch: Mismatch) -> list[str]:
    """Return what the diff cannot show: the text of an unannounced failure, of an unusable script."""
    if mismatch.fault == "failed":
        way = ("  help: if the failure is expected, write a line `#!` below the statement (in a session: `error[`) "
               "and run `gradsh test --update`")
        return [*(f"  {line}" for line in mismatch.actual), way]
    if mismatch.fault == "script":
        return [f"  {line}" for line in mismatch.actual]
    return []


def diff_lines(tested: Checked) -> list[str]:
    """Return the unified diff from what is expected to what came out, with the script's line numbers.

    Lines that match within the tolerance or by a wildcard are no differences.
    """
    update = proposed(tested, force=True)
    out = _diff(tested.path, tested.text, update.text)
    for path, text in update.siblings.items():
        try:
            old = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            old = ""
        out += _diff(str(path), old, text)
    return out


def _diff(name: str, old: str, new: str) -> list[str]:
    before, after = (text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else [] for text in (old, new))
    return list(difflib.unified_diff(before, after, f"{name} (expected)", f"{name} (actual)", lineterm=""))


def painted_diff(lines: Sequence[str], style: Style) -> list[str]:
    """Return a diff in its colours; where as many lines came as went, the words that differ stand out."""
    out: list[str] = []
    inside, at = False, 0
    while at < len(lines):
        inside = lines[at].startswith("@@") or (inside and not lines[at].startswith("--- "))
        gone = list(takewhile(lambda line: line.startswith("-"), lines[at:])) if inside and style.colour else []
        came = list(takewhile(lambda line: line.startswith("+"), lines[at + len(gone) :])) if gone else []
        if gone and len(gone) == len(came):
            pairs = [_by_words(*pair, style) for pair in zip(gone, came, strict=True)]
            out += [line for side in zip(*pairs, strict=True) for line in side]
            at += 2 * len(gone)
        else:
            role = {"+": "added", "-": "removed", "@": "note"}.get(lines[at][:1], "")
            out.append(style.paint(role, printable(lines[at])))
            at += 1
    return out


def _by_words(old: str, new: str, style: Style) -> tuple[str, str]:
    """Two lines of a diff in their colours, what only one of them has reversed."""
    sides = [re.findall(r"\s+|\w+|.", printable(line[1:])) for line in (old, new)]
    if len(sides[0]) * len(sides[1]) > MOST_PAIRS:
        return style.paint("removed", printable(old)), style.paint("added", printable(new))
    out = [style.paint("removed", "-"), style.paint("added", "+")]
    for what, a, b, c, d in difflib.SequenceMatcher(None, sides[0], sides[1], autojunk=False).get_opcodes():
        for side, (role, start, end) in enumerate((("removed", a, b), ("added", c, d))):
            out[side] += style.paint(role if what == "equal" else f"{role} word", "".join(sides[side][start:end]))
    return out[0], out[1]


def summary(results: Sequence[Checked], orphans: Sequence[str], style: Style, total: int) -> str:
    """Return the last line: how many scripts of the total passed, failed, were not run."""
    failed = sum(not tested.passed for tested in results) + len(orphans)
    skipped = sum(tested.skipped for tested in results)
    expected = sum(tested.passed and not tested.skipped and tested.excused is not None for tested in results)
    others = ((skipped, "skipped"), (expected, "failed as expected"), (total - len(results), "not run"))
    passed = sum(tested.passed for tested in results) - skipped - expected
    text = ", ".join((f"{passed} passed", f"{failed} failed", *(f"{count} {word}" for count, word in others if count)))
    return style.paint("removed" if failed else "added", text)


def excuses(results: Sequence[Checked], style: Style) -> list[str]:
    """Return a line for each script that was skipped, or failed as expected, with its reason."""
    words = {"skip": "skipped", "xfail": "failed as expected"}
    found = [(tested.path, tested.excused) for tested in results if tested.passed and tested.excused is not None]
    return [style.paint("dim", printable(f"{path}: {words[one.kind]}: {one.reason}")) for path, one in found]


def slowest(results: Sequence[Checked], count: int) -> list[str]:
    """Return the slowest scripts with their seconds, slowest first."""
    ordered = sorted(results, key=lambda tested: -tested.seconds)
    return [f"{tested.seconds:8.3f} s  {tested.path}" for tested in ordered[: count or None]]
