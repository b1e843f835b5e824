"""What holds whatever is read: the checks that the fuzz tests, the harnesses in `fuzz/` and runs of thousands share.

Each takes an input and raises AssertionError (or lets through what should never come out) where gradsh breaks its word.
"""

import json
from pathlib import Path

from gradsh.commands import GRAMMARS
from gradsh.contracts.events import Event, Failure
from gradsh.golden.check import check_script
from gradsh.golden.compare import Tolerance
from gradsh.golden.report import failure_lines
from gradsh.golden.update import proposed
from gradsh.language.parser import is_complete, parse
from gradsh.language.paste import clean
from gradsh.language.tokens import pieces
from gradsh.process.limits import Limits
from gradsh.render.json import line_of
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.run.script import RunOptions, Script
from gradsh.session.parameters import parameters_in, wrong_values
from gradsh.session.session import Session
from gradsh.shell.config import DEFAULTS, Config
from gradsh.shell.history import HistoryFile
from gradsh.text.kinds import KINDS
from gradsh.text.problem import Problem, ProblemError
from gradsh.text.span import Source

LIMITS = Limits(timeout=2.0, max_memory=None, max_output=1 << 20, max_nodes=1_000_000)
INSIDE = (
    "Traceback (most", "<gradsh ", ".<locals>", "site-packages", "gradsh/runtime", "gradsh/engine", "gradsh.engine", "gradsh.runtime",
)
"""What no message may hold: they are the inside of gradsh."""
PLAIN = Style()


def located(problem: Problem, source: Source) -> None:
    """A problem is of a known kind, says something, and its places lie in their sources."""
    assert problem.kind in KINDS
    assert problem.message
    for label in problem.labels:
        text = label.source or source
        last = text.first_line + len(text.lines) - 1
        assert text.first_line <= label.span.line <= label.span.end_line <= last, label
        assert label.span.column >= 1, label


def parses_or_explains(text: str) -> None:
    """A text parses, or is a located problem of kind `syntax` or `limit` with a way out; so do its mended and its typed form."""
    for shown in {text, clean(text)[0]}:
        source = Source("fuzz", shown)
        problem = _problem_of(source)
        if problem is not None:
            assert problem.kind in {"syntax", "limit"}
            assert problem.help, problem
            assert problem.labels, problem
            located(problem, source)
    is_complete(text, GRAMMARS)
    at = 0
    for start, end, _ in pieces(text):
        assert at <= start < end <= len(text)
        at = end


def _problem_of(source: Source) -> Problem | None:
    try:
        parse(source, GRAMMARS)
    except ProblemError as error:
        return error.problem
    return None


def lines_stay(text: str) -> None:
    """Mending what was pasted keeps the number of lines, and finds nothing more to mend in what it made."""
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    assert clean(text)[0].count("\n") == ends.count("\n")


def runs_or_explains(text: str, limits: Limits = LIMITS) -> list[Event]:
    """A script runs, or its failures are problems of known kinds with places; every event can be told as text and as JSON."""
    events: list[Event] = []
    untold: list[str] = []

    def emit(event: Event) -> None:
        events.append(event)
        shown, told = event_text(event, PLAIN), line_of(event)  # what cannot be shown is the command's failure
        if told is not None and "event" not in json.loads(told):
            untold.append(told)
        if isinstance(event, Failure):
            located(event.problem, event.source)
            assert event.problem.labels
            whole = "".join(shown or ())
            assert not any(word in whole and word not in text for word in INSIDE), whole

    session = Session(limits=limits)
    session.run(text, emit, keep_going=True)
    emit(session.snapshot())
    assert not untold
    return events


def golden_is_judged(text: str, path: Path) -> None:
    """A golden passes or fails with words; what an update would write is text, and is stable where all statements pass."""
    options = RunOptions(limits=LIMITS, owns_process=False)
    checked = check_script(Script(str(path), text), options, Tolerance())
    for mismatch in checked.mismatches:
        assert 0 <= mismatch.line <= text.count("\n") + text.count("\r") + 1
        assert mismatch.message
    assert checked.passed or failure_lines(checked, PLAIN)
    for force in (False, True):
        update = proposed(checked, force=force)
        update.text.encode("utf-8", "surrogatepass")
        assert not (checked.passed and update.text != text)


def parameters_are_told(text: str, given: dict[str, str]) -> None:
    """The parameters of any text are a list, and any values for them are taken or refused in a sentence."""
    known = parameters_in("fuzz", text)
    assert isinstance(wrong_values(known, given), str)


def settings_are_read(text: str, history: bytes, home: Path) -> None:
    """Any `config.toml` gives settings of known values, and sentences about the rest; any history file gives entries."""
    file = home / "config.toml"
    config = Config()
    config.read(text, str(file))
    for name, value in config.values.items():
        assert type(value) is type(DEFAULTS[name]) or isinstance(value, str), (name, value)
    assert all(isinstance(problem, str) for problem in config.problems)
    path = home / "history"
    path.write_bytes(history)
    found = HistoryFile(path)
    entries = found.load()
    found.append("x = 1")
    found.mark_failed("x = 1")
    again = HistoryFile(path)
    assert again.load()[-1] == "x = 1"
    assert "x = 1" in again.failed
    assert len(again.load()) >= len(entries)
