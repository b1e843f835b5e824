"""Says how golden tests went, for people: the differences, the summary, what was slow."""

import difflib
from collections.abc import Sequence

from gradsh.golden.check import Checked, Mismatch
from gradsh.golden.update import proposed
from gradsh.render.style import Style, printable


def failure_lines(tested: Checked, style: Style) -> list[str]:
    """Return what a person needs to see of a failed script: what differs, and the differences as one unified diff."""
    out = []
    for mismatch in tested.mismatches:
        place = f"{tested.path}:{mismatch.line}" if mismatch.line else tested.path
        out.append(f"{style.paint('bold', place)}: {mismatch.message}")
        out += details(mismatch)
    out += [painted(line, style) for line in diff_lines(tested)]
    return out


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


def painted(line: str, style: Style) -> str:
    """Return a line of a diff in its colour."""
    role = {"+": "added", "-": "removed", "@": "note"}.get(line[:1], "")
    return style.paint(role, printable(line))


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
