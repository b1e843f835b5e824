"""Lets pytest collect `*.grad` files: a test for each statement with expectations, and one for all the rest.

The file is run once, when its first test runs; each test then looks at what belongs to its statement.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradsh.golden.check import Checked, Mismatch
    from gradsh.text.expectations import Block


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of golden tests."""
    group = parser.getgroup("gradsh", "golden tests of gradsh scripts")
    group.addoption(
        "--grad-update", action="store_true", help="update outdated expectations of *.grad files"
    )
    parser.addini("grad_rtol", "relative tolerance of floats in *.grad files", default="1e-4")
    parser.addini("grad_atol", "absolute tolerance of floats in *.grad files", default="1e-6")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to rewrite goldens where CI is set."""
    if config.getoption("--grad-update") and os.environ.get("CI"):
        raise pytest.UsageError("--grad-update: goldens are not rewritten where CI is set")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "GradFile | None":
    """Collect `*.grad` files."""
    return GradFile.from_parent(parent, path=file_path) if file_path.suffix == ".grad" else None


class GradMismatch(Exception):
    """What a script said differs from what it did; the text is ready to be shown."""


class GradFile(pytest.File):
    """A script. It is run once, for all of its tests."""

    checked: "Checked | None" = None
    tested_lines: Sequence[int] = ()

    def collect(self) -> Iterator["GradStatement | GradRest"]:
        """Yield a test for each statement with expectations, then one for all the rest."""
        blocks = list(self._blocks())
        self.tested_lines = [line for _, line, _ in blocks]
        yield from (
            GradStatement.from_parent(self, name=name, line=line, end_line=block.end_line)
            for name, line, block in blocks
        )
        yield GradRest.from_parent(self, name="rest")

    def _blocks(self) -> Iterator[tuple[str, int, "Block"]]:
        """(name, first line, expectations) of each statement with expectations; nothing for an unusable script."""
        from gradsh.commands import GRAMMARS
        from gradsh.language.parser import parse
        from gradsh.language.paste import clean
        from gradsh.run.read import read_script
        from gradsh.text.expectations import scan
        from gradsh.text.problem import ProblemError
        from gradsh.text.span import Source

        source = Source(str(self.path), clean(read_script(str(self.path)).text)[0])
        try:
            body = parse(source, GRAMMARS).body
            blocks = scan(source, [(one.span.line, one.span.end_line) for one in body])
        except ProblemError:
            return
        first = {one.span.end_line: one.span.line for one in reversed(body)}
        for end_line, block in sorted(blocks.items()):
            line = first[end_line]
            yield f"line {line}: {source.line(line).strip()[:40]}", line, block

    def outcome(self) -> "Checked":
        """Return what the script did, running it if this is the first question."""
        if self.checked is None:
            self.checked = self._check(str(self.path))
            if self.config.getoption("--grad-update") and not self.checked.passed:
                from gradsh.golden.update import settle

                self.checked = self._as_collected(settle(self.checked, self._check))
        return self.checked

    def _check(self, path: str) -> "Checked":
        from gradsh.golden.compare import Tolerance
        from gradsh.golden.documents import check_file
        from gradsh.golden.redact import of_project
        from gradsh.process.limits import FOR_TESTS
        from gradsh.run.script import RunOptions

        options = RunOptions(limits=FOR_TESTS._replace(max_memory=None), owns_process=False)  # the process is pytest's, not ours to bound
        rtol, atol = (float(self.config.getini(name)) for name in ("grad_rtol", "grad_atol"))
        tolerance = Tolerance(rtol, atol, of_project(self.config.rootpath))
        return check_file(path, options, tolerance)

    def _as_collected(self, checked: "Checked") -> "Checked":
        """The outcome with the lines that were collected: an update moves the statements below it."""
        before = self.checked.ran if self.checked is not None else ()
        lines = {new.line: old.line for new, old in zip(checked.ran, before, strict=False)}
        moved = tuple(one._replace(line=lines.get(one.line, one.line)) for one in checked.mismatches)
        return checked._replace(mismatches=moved)

    def lines_with_tests(self) -> set[int]:
        """Return the first lines of the statements that have a test of their own."""
        return set(self.tested_lines)


class GradItem(pytest.Item):
    """A test that is part of a script."""

    parent: GradFile

    def mine(self) -> list["Mismatch"]:
        """Return the mismatches that this test answers for."""
        raise AssertionError("a test says what it answers for")

    def runtest(self) -> None:
        """Run the script, if need be, and look at this test's part."""
        mismatches = self.mine()
        excused = self.parent.outcome().excused
        if excused is not None and not mismatches:
            (pytest.skip if excused.kind == "skip" else pytest.xfail)(excused.reason)
        if mismatches:
            raise GradMismatch(self._text(mismatches))

    def _text(self, mismatches: list["Mismatch"]) -> str:
        from gradsh.golden.report import failure_lines
        from gradsh.render.style import Style

        return "\n".join(failure_lines(self.parent.outcome()._replace(mismatches=tuple(mismatches)), Style()))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any) -> Any:
        """Show a mismatch as its own text, anything else as pytest does."""
        if isinstance(excinfo.value, GradMismatch):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)


class GradStatement(GradItem):
    """The expectations of one statement."""

    def __init__(self, *, line: int, end_line: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.line = line
        self.end_line = end_line

    def mine(self) -> list["Mismatch"]:
        """Return the mismatches of the statement."""
        return [one for one in self.parent.outcome().mismatches if self.line <= one.line <= self.end_line]

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where the statement stands."""
        return self.path, self.line - 1, f"[grad] {self.path.name} {self.name}"


class GradRest(GradItem):
    """Everything that no statement's own test covers: it runs, fails nowhere unannounced, says nothing unexpected."""

    def mine(self) -> list["Mismatch"]:
        """Return the mismatches that belong to no statement with expectations."""
        covered = self.parent.lines_with_tests()
        return [one for one in self.parent.outcome().mismatches if one.line not in covered]

    def reportinfo(self) -> tuple[Path, int, str]:
        """Say where the script stands."""
        return self.path, 0, f"[grad] {self.path.name} {self.name}"
