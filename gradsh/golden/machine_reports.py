"""Says how golden tests went, for other programs: JUnit's XML, the Test Anything Protocol, GitHub's annotations."""

from collections.abc import Iterator, Sequence
from os.path import normpath
from typing import NamedTuple

from gradsh.golden.check import Checked, as_comment
from gradsh.golden.report import failure_lines
from gradsh.render.style import Style, printable


class ReportCase(NamedTuple):
    """A test of a report: a script, one of its statements, or a file beside it that no script names."""

    name: str
    file: str
    tested: Checked | None
    seconds: float = 0.0

    @property
    def failure(self) -> list[str]:
        """What went wrong, line by line."""
        if self.tested is None:
            return ["no script names this output file"]
        return [] if self.tested.passed else failure_lines(self.tested, Style())


def cases(results: Sequence[Checked], orphans: Sequence[str], *, by_statement: bool) -> list[ReportCase]:
    """Return the tests of a report: one a script, or one for each statement with expectations and one for the rest of the script."""
    out = []
    for tested in results:
        left = tested.mismatches
        for one in tested.ran if by_statement and tested.excused is None else ():
            if one.end_line in tested.blocks:
                mine = tuple(mismatch for mismatch in left if one.line <= mismatch.line <= one.end_line)
                left = tuple(mismatch for mismatch in left if mismatch not in mine)
                name = f"{tested.path}:{one.line}: {tested.text.splitlines()[one.line - 1].strip()[:40]}"
                out.append(ReportCase(name, tested.path, tested._replace(mismatches=mine)))
        out.append(ReportCase(tested.path, tested.path, tested._replace(mismatches=left), tested.seconds))
    return out + [ReportCase(path, path, None) for path in orphans]


def tap(found: Sequence[ReportCase]) -> Iterator[str]:
    """Yield the results as the Test Anything Protocol, version 14."""
    yield "TAP version 14"
    yield f"1..{len(found)}"
    for number, case in enumerate(found, 1):
        excused = case.tested.excused if case.tested is not None and not case.failure else None
        skipped = excused is None or excused.kind == "skip"
        word = "" if excused is None else f" # {'SKIP' if skipped else 'TODO'} {_tap_text(excused.reason)}"
        yield f"{'ok' if not case.failure and skipped else 'not ok'} {number} - {_tap_text(case.name)}{word}"
        if case.failure:
            yield "  ---"
            yield "  message: |"
            yield from (f"    {line}" for line in case.failure)
            yield "  ..."


def _tap_text(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace("#", "\\#")


def junit(found: Sequence[ReportCase]) -> str:
    """Return the results as a JUnit XML document."""
    failed = sum(bool(case.failure) for case in found)
    skipped = sum(not case.failure and case.tested is not None and case.tested.excused is not None for case in found)
    seconds = sum(case.seconds for case in found)
    counts = f'tests="{len(found)}" failures="{failed}" errors="0" skipped="{skipped}" time="{seconds:.3f}"'
    out = ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>", f'<testsuite name="gradsh" {counts}>']
    out += [line for case in found for line in _junit_case(case)]
    return "\n".join([*out, "</testsuite>", "</testsuites>"]) + "\n"


def _junit_case(case: ReportCase) -> Iterator[str]:
    yield f'<testcase classname="gradsh" name={_quoted(case.name)} file={_quoted(case.file)} time="{case.seconds:.3f}">'
    if case.failure:
        first = case.tested.mismatches[0] if case.tested is not None else None
        yield f"<failure message={_quoted(case.failure[0] if first is None else f'line {first.line}: {first.message}')}>"
        yield _escaped("\n".join(case.failure))
        yield "</failure>"
    elif case.tested is not None and case.tested.excused is not None:
        word = "" if case.tested.skipped else "failed as expected: "
        yield f"<skipped message={_quoted(word + case.tested.excused.reason)}/>"
    yield "</testcase>"


def _quoted(text: str) -> str:
    from xml.sax.saxutils import quoteattr

    return quoteattr(_xml(text))


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
            yield f"::error file={_property(normpath(tested.path))},line={max(1, mismatch.line)},title=gradsh test::{text}"
    for path in orphans:
        yield f"::error file={_property(normpath(path))},title=gradsh test::no script names this output file"


def _property(text: str) -> str:
    return (text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C"))
