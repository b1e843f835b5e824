"""Runs one script and holds what came out against what it expects."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gradsh.contracts.events import Done, Event, Failure, Result
from gradsh.golden.compare import Tolerance, agree
from gradsh.golden.condition import excuse
from gradsh.golden.redact import with_own
from gradsh.language.parser import MAX_TEXT
from gradsh.render.diagnostic import draw
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.run.read import Script
from gradsh.run.script import RunOptions, collect_again, end_stuck, module_reader
from gradsh.run.sinks import write_result
from gradsh.session.session import Session
from gradsh.text.expectations import Block, Expected, scan
from gradsh.text.problem import Problem, ProblemError
from gradsh.text.script_options import Excuse, options_of
from gradsh.text.span import Source

if TYPE_CHECKING:
    from gradsh.session.session import Session

Fault = Literal["output", "shown", "failure", "failed", "passed", "sibling", "script"]
PLAIN = Style()


class CheckedRun(NamedTuple):
    """A top-level statement (or several on one line) that was run: its lines, its output, and its failure's lines."""

    line: int
    end_line: int
    output: tuple[str, ...]
    failure: tuple[str, ...] = ()
    ok: bool = True


class Mismatch(NamedTuple):
    """Where a script does not do what it says.

    `fault`: the output, what a session shows, or the failure's text differs; a statement failed unannounced, or passed though announced to
    fail; the file beside the script differs; the script itself is unusable.
    """

    line: int
    fault: Fault
    message: str
    expected: tuple[Expected, ...] = ()
    actual: tuple[str, ...] = ()


class Checked(NamedTuple):
    """The outcome of one script: what it ran and where that differs; no mismatch means it passed."""

    path: str
    text: str
    ran: tuple[CheckedRun, ...]
    blocks: dict[int, Block]
    mismatches: tuple[Mismatch, ...]
    tolerance: Tolerance
    seconds: float
    excused: Excuse | None = None
    """Why it was not run, or why its mismatches do not count."""

    @property
    def passed(self) -> bool:
        """Whether everything came out as expected, or need not."""
        return not self.mismatches

    @property
    def skipped(self) -> bool:
        """Whether it was not run, as it asks for."""
        return self.excused is not None and self.excused.kind == "skip"


class ScriptRecorder:
    """An emit that keeps the text of each top-level statement apart."""

    def __init__(self) -> None:
        self.ran: list[CheckedRun] = []
        self.loose: tuple[str, ...] = ()
        self.line = 1
        self._text = event_text
        self._out: list[str] = []
        self._failure: list[str] = []

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if type(event) is Done:
            self._close(event)
            return
        if type(event) is Result and event.output:
            write_result(event, PLAIN)
        shown = self._text(event, PLAIN)
        if shown is None:
            return
        if shown[0] == "out":
            self._out.append(shown[1])
        elif type(event) is Failure:
            self.line = event.line
            self._failure.append(shown[1])

    def _close(self, done: Done) -> None:
        ran = CheckedRun(done.line, done.end_line, lines_of(self._out), lines_of(self._failure), done.ok)
        self._out, self._failure = [], []
        before = self.ran[-1] if self.ran else None
        if before is not None and before.end_line == ran.line:
            self.ran[-1] = CheckedRun(before.line, ran.end_line, before.output + ran.output, before.failure + ran.failure,
                               before.ok and ran.ok)
        else:
            self.ran.append(ran)

    def finish(self) -> None:
        """Keep what came after the last statement: the failure (in `line`) of a text that could not be parsed."""
        self.loose = lines_of(self._failure)


def lines_of(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a text that came in parts."""
    text = "".join(parts)
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


class Played(NamedTuple):
    """What a script did: its statements, the failure of a text that could not be parsed, how often it was interrupted.

    `statements` are the lines of the top-level statements; a script that is not usable was not run, and has none.
    """

    ran: tuple[CheckedRun, ...] = ()
    loose: tuple[str, ...] = ()
    line: int = 1
    statements: tuple[tuple[int, int], ...] = ()
    interrupted: bool = False
    seconds: float = 0.0

    @classmethod
    def read(cls, told: Any) -> "Played":
        """Make one of what came as JSON. Raises what unpacking raises where it is none."""
        ran, loose, line, statements, _, seconds = told
        return cls(
            tuple(CheckedRun(int(a), int(b), tuple(map(str, out)), tuple(map(str, failure)), bool(ok)) for a, b, out, failure, ok in ran),
            tuple(map(str, loose)), int(line), tuple((int(a), int(b)) for a, b in statements), False, float(seconds),
        )


def lost_script(script: Script, line: int, reason: str) -> Checked:
    """Return the outcome of a script whose process ended before it did."""
    excused = _misfit(script, Source(script.name, script.text))[1]
    return _excused(Checked(script.name, "", (), {}, (Mismatch(line, "script", reason),), Tolerance(), 0.0, excused))


def check_script(script: Script, options: RunOptions, tolerance: Tolerance, *, bare: bool = False) -> Checked:
    """Run a script in a fresh session of this process and compare: see `judge`."""
    return judge(script, play(script, options), tolerance, bare=bare)


def play(script: Script, options: RunOptions) -> Played:
    """Run a script in a fresh session; one that is not usable is not run."""
    start = time.perf_counter()
    source = Source(script.name, script.text)
    misfit, excused = _misfit(script, source)
    if misfit is not None or (excused is not None and excused.kind == "skip"):
        return Played()
    recorder = ScriptRecorder()
    outcome = fresh_session(script, options).run(source.text, recorder, name=source.name, keep_going=True)
    recorder.finish()
    seconds = time.perf_counter() - start
    return Played(tuple(recorder.ran), recorder.loose, recorder.line, outcome.statements, outcome.interrupted, seconds)


def fresh_session(script: Script, options: RunOptions) -> "Session":
    """Return a session for a script that is tested."""
    session = Session(options.seed, limits=options.limits)
    session.machine.read_module = module_reader(script)
    if options.owns_process:
        collect_again()
        session.when_stuck = lambda line, reason: end_stuck(script.name, script.text, line, reason)
    return session


def judge(script: Script, played: Played, tolerance: Tolerance, *, bare: bool = False) -> Checked:
    """Compare what a script did with what it expects, statement by statement.

    With `bare`, a script without any expectation is held to have no output, too; otherwise it must just run.
    """
    start = time.perf_counter()
    source = Source(script.name, script.text)
    misfit, excused = _misfit(script, source)
    found = Checked(script.name, script.text, (), {}, () if misfit is None else (misfit,), tolerance, 0.0, excused)
    if found.skipped:
        return found
    if misfit is None:
        try:
            found = _compared(found, source, played, bare)
        except ProblemError as error:
            found = found._replace(mismatches=(_unusable(error.problem, source),))
    elif len(script.text) > MAX_TEXT:
        found = found._replace(text="")
    return _excused(found._replace(seconds=played.seconds + time.perf_counter() - start))


def _excused(found: Checked) -> Checked:
    """Leave out the mismatches of a script that is expected to fail; that it passed is one."""
    if found.excused is None:
        return found
    reason = f"passed, though it is expected to fail: {found.excused.reason}"
    return found._replace(mismatches=() if found.mismatches else (Mismatch(found.excused.line, "script", reason),))


def _misfit(script: Script, source: Source) -> tuple[Mismatch | None, Excuse | None]:
    """Why a script cannot be run, if it cannot; what it says about being left out or failing."""
    if script.unreadable:
        return Mismatch(0, "script", f"cannot be read: {script.unreadable}"), None
    if len(script.text) > MAX_TEXT:
        return Mismatch(0, "script", f"cannot be read: more than {MAX_TEXT:,} characters"), None
    try:
        options = options_of(source)
    except ProblemError as error:
        return _unusable(error.problem, source), None
    try:
        return None, excuse(options)
    except ValueError as error:
        line = next(one.line for one in options.excuses if one.condition)
        return Mismatch(line, "script", f"a condition cannot be read: {error}"), None


def _unusable(problem: Problem, source: Source) -> Mismatch:
    line = problem.labels[0].span.line if problem.labels else 1
    return Mismatch(line, "script", problem.message, actual=tuple(draw(problem, source, PLAIN)))


def _compared(found: Checked, source: Source, played: Played, bare: bool) -> Checked:
    said = options_of(source)
    rtol, atol, known = found.tolerance
    try:
        known = with_own(known, said)
    except ValueError as error:
        return found._replace(mismatches=(Mismatch(1, "script", str(error)),))
    tolerance = Tolerance(rtol if said.rtol is None else said.rtol, atol if said.atol is None else said.atol, known)
    if played.loose and not played.statements:
        return found._replace(mismatches=(Mismatch(played.line, "script", "cannot be run", actual=played.loose),))
    blocks = scan(source, played.statements)
    mismatches = _mismatches(played.ran, blocks, tolerance, Path(source.name), bare)
    if played.interrupted:
        raise KeyboardInterrupt
    return found._replace(ran=played.ran, blocks=blocks, tolerance=tolerance, mismatches=tuple(mismatches))


def _mismatches(
    ran: tuple[CheckedRun, ...], blocks: dict[int, Block], tolerance: Tolerance, path: Path, bare: bool
) -> list[Mismatch]:
    out = []
    for one in ran:
        block = blocks.get(one.end_line, Block(one.end_line, ()))
        out += _failure_mismatch(one, block, tolerance)
        if blocks or bare:  # a file without any expectation must just run
            out += _output_mismatch(one, block, tolerance, path)
    return out


def _failure_mismatch(ran: CheckedRun, block: Block, tolerance: Tolerance) -> list[Mismatch]:
    expected = block.failure
    if not ran.ok and not expected:
        return [Mismatch(ran.line, "failed", "the statement failed", actual=ran.failure)]
    if ran.ok and expected and not ran.failure:
        return [Mismatch(ran.line, "passed", "the statement succeeded, but a failure is expected", expected)]
    if expected and not agree(expected, ran.failure, tolerance):
        return [Mismatch(ran.line, "failure", "the failure differs", expected, ran.failure)]
    return []


def _output_mismatch(ran: CheckedRun, block: Block, tolerance: Tolerance, path: Path) -> list[Mismatch]:
    sibling = block.sibling
    if sibling is None:
        if agree(block.output, ran.output, tolerance):
            return []
        return [Mismatch(ran.line, "output", "the output differs", block.output, ran.output)]
    if block.output:
        return [Mismatch(sibling.line, "script", "the output of a statement is either here or in a file, not in both")]
    try:
        expected = sibling_lines(path, sibling)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        words = getattr(error, "strerror", None) or str(error)
        return [Mismatch(ran.line, "sibling", f"cannot read {sibling.text}: {words}", (), ran.output)]
    if agree(expected, ran.output, tolerance):
        return []
    return [Mismatch(ran.line, "sibling", f"the output differs from {sibling.text}", expected, ran.output)]


def sibling_path(script: Path, sibling: Expected) -> Path:
    """Return where the file of a `#>>` stands: beside the script; ValueError for a name that leads elsewhere."""
    if not sibling.text or Path(sibling.text).name != sibling.text or sibling.text in {".", ".."} or "\0" in sibling.text:
        raise ValueError("the file must be beside the script: give a name without a folder")
    path = script.parent / sibling.text
    if path.is_symlink():  # a stranger's tree of scripts could have an update write anywhere
        raise ValueError("the file must be beside the script: it is a link")
    return path


def sibling_lines(script: Path, sibling: Expected) -> tuple[Expected, ...]:
    """Return the lines of the file of a `#>>` as expectations."""
    path = sibling_path(script, sibling)
    if path.exists() and not path.is_file():
        raise OSError("it is not a regular file")  # and a pipe would be waited for
    text = path.read_text(encoding="utf-8")
    lines = text.removesuffix("\n").split("\n") if text else []
    return tuple(Expected(number, "#>", line) for number, line in enumerate(lines, 1))


def as_comment(sign: str, text: str) -> str:
    """Return a line of output as the expectation that matches it, without trailing blanks; no sign: as it stands in a session."""
    if not sign:
        return text.rstrip()
    return f"{sign} {text.rstrip()}" if text.strip() else sign
