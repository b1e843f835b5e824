"""Says how golden tests went: for people, for JUnit readers, for TAP readers and for GitHub's annotations."""

import difflib
from collections.abc import Iterator, Sequence

from gradsh.golden.check import Checked, Mismatch, as_comment
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
        way = "  help: if it is meant to fail, write a line `#!` below it and run `gradsh test --update`"
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
    passed = sum(tested.passed for tested in results)
    text = f"{passed} passed, {failed} failed" + (f", {total - len(results)} not run" if total > len(results) else "")
    return style.paint("removed" if failed else "added", text)


def slowest(results: Sequence[Checked], count: int) -> list[str]:
    """Return the slowest scripts with their seconds, slowest first."""
    ordered = sorted(results, key=lambda tested: -tested.seconds)
    return [f"{tested.seconds:8.3f} s  {tested.path}" for tested in ordered[: count or None]]


def tap(results: Sequence[Checked], orphans: Sequence[str]) -> Iterator[str]:
    """Yield the results as the Test Anything Protocol, version 14."""
    yield "TAP version 14"
    yield f"1..{len(results) + len(orphans)}"
    number = 0
    for number, tested in enumerate(results, 1):
        yield f"{'ok' if tested.passed else 'not ok'} {number} - {_tap_name(tested.path)}"
        if not tested.passed:
            yield "  ---"
            yield "  message: |"
            yield from (f"    {line}" for line in failure_lines(tested, Style()))
            yield "  ..."
    for extra, path in enumerate(orphans, number + 1):
        yield f"not ok {extra} - {_tap_name(path)}: expected output that no script names"


def _tap_name(path: str) -> str:
    return printable(path).replace("\\", "\\\\").replace("#", "\\#")


def junit(results: Sequence[Checked], orphans: Sequence[str]) -> str:
    """Return the results as a JUnit XML document."""
    from xml.sax.saxutils import quoteattr

    failed = sum(not tested.passed for tested in results) + len(orphans)
    seconds = sum(tested.seconds for tested in results)
    counts = f'tests="{len(results) + len(orphans)}" failures="{failed}" errors="0" skipped="0" time="{seconds:.3f}"'
    out = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>", f'<testsuite name="gradsh" {counts}>']
    for tested in results:
        name = quoteattr(_xml(tested.path))
        head = f'<testcase classname="gradsh" name={name} file={name} time="{tested.seconds:.3f}"'
        if tested.passed:
            out.append(head + "/>")
            continue
        first = tested.mismatches[0]
        message = quoteattr(_xml(f"line {first.line}: {first.message}"))
        out += [head + ">", f"<failure message={message}>", _escaped("\n".join(failure_lines(tested, Style()))),
                "</failure>", "</testcase>"]
    for path in orphans:
        name = quoteattr(_xml(path))
        out.append(f'<testcase classname="gradsh" name={name} file={name} time="0"><failure '
                   'message="expected output that no script names"/></testcase>')
    return "\n".join([*out, "</testsuite>", "</testsuites>"]) + "\n"


def _xml(text: str) -> str:
    """The text without the characters that XML has no way to write."""
    return "".join(c if c in "\t\n\r" or (c >= " " and not 0xD800 <= ord(c) <= 0xDFFF and c not in "\ufffe\uffff")
                   else "\ufffd" for c in text)


def _escaped(text: str) -> str:
    from xml.sax.saxutils import escape

    return escape(_xml(text))


def annotations(results: Sequence[Checked], orphans: Sequence[str]) -> Iterator[str]:
    """Yield GitHub's workflow commands that mark each difference on its line."""
    for tested in results:
        for mismatch in tested.mismatches:
            words = [mismatch.message, *(as_comment("-", e.text) for e in mismatch.expected),
                     *(as_comment("+", line) for line in mismatch.actual)]
            text = "\n".join(words).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
            yield f"::error file={_property(tested.path)},line={max(1, mismatch.line)},title=gradsh test::{text}"
    for path in orphans:
        yield f"::error file={_property(path)},title=gradsh test::expected output that no script names"


def _property(text: str) -> str:
    return (text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C"))
