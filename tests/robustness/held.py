"""What holds whatever is read: the checks that the fuzz tests, the harnesses in `fuzz/` and runs of thousands share.

Each takes an input and raises AssertionError (or lets through what should never come out) where gradsh breaks its word.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gradsh.api.function import FunctionNode
from gradsh.commands import GRAMMARS
from gradsh.contracts.events import Event, Failure
from gradsh.contracts.settings import defaults
from gradsh.engine.graph.tensor import Tensor
from gradsh.golden.check import Played, check_script, judge
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
from gradsh.run.read import Script
from gradsh.run.script import RunOptions, stuck
from gradsh.run.scripts import Ran
from gradsh.run.workers import Lost, answer_of
from gradsh.session.parameters import parameters_in, wrong_values
from gradsh.session.session import Session
from gradsh.shell.config import Config
from gradsh.shell.history import HistoryFile
from gradsh.text.kinds import KINDS
from gradsh.text.problem import Problem, ProblemError
from gradsh.text.span import Source
from tests.robustness.reach import DANGEROUS

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


def runs_or_explains(text: str, limits: Limits = LIMITS, session: Session | None = None) -> list[Event]:
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

    session = session or Session(limits=limits)
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


def paste_is_mended(text: str) -> None:
    """What was pasted keeps its lines, and parses or is explained as it stands and as it is mended."""
    lines_stay(text)
    parses_or_explains(text)


def loads_or_explains(data: bytes, folder: Path) -> None:
    """Any file is run, or refused in a sentence, by `load`; `save` keeps what ran, and that loads, too."""
    (folder / "hostile.grad").write_bytes(data)
    limits = LIMITS._replace(allow_files=str(folder))
    (folder / "saved.grad").unlink(missing_ok=True)
    runs_or_explains("load 'hostile.grad'\nsave 'saved.grad'\nreset\nload 'saved.grad'\nvars\nhistory", limits)


def answer_is_read(told: object, text: str) -> None:
    """Whatever a script's process has sent, its parent shows it, or says that it was no answer."""
    data = json.dumps(told).encode()
    script = Script("x.grad", text)
    for read in (Played.read, Ran.read):
        found = answer_of(data, read)
        if isinstance(found, Played):
            checked = judge(script, found, Tolerance())
            assert checked.passed or failure_lines(checked, PLAIN)
            proposed(checked, force=True).text.encode("utf-8", "surrogatepass")
        elif isinstance(found, Lost):
            event = stuck(script.name, script.text, found.line, found.reason)
            assert event_text(event, PLAIN)
            assert line_of(event)


def objects_stay_inside(parts: Sequence[str]) -> None:
    """The parts that parse of a program with hostile objects run or are explained, and leave nothing dangerous in its hands."""
    session = Session(limits=LIMITS._replace(timeout=0.5))  # endless loops are frequent
    runs_or_explains("".join(text for text in parts if _problem_of(Source("fuzz", text)) is None), session=session)
    for name, value in list(session.machine.program.items()):
        if name != "__builtins__":
            harmless(value, name)


def harmless(value: object, what: str, depth: int = 4) -> None:
    """Fail where a value, or what it holds, leads out."""
    assert not isinstance(value, (*DANGEROUS, FunctionNode)), (what, type(value))
    assert not (isinstance(value, np.ndarray) and value.dtype.hasobject), what
    if isinstance(value, Tensor) and type(value) is Tensor:
        assert type(value.array) is np.ndarray, what
    kept = value.values() if isinstance(value, dict) else value if type(value) in {list, tuple, set} else ()
    for one in list(kept)[:300] if depth else ():
        harmless(one, what, depth - 1)


def settings_are_read(text: str, history: bytes, home: Path) -> None:
    """Any `config.toml` gives settings of known values, and sentences about the rest; any history file gives entries."""
    file = home / "config.toml"
    config = Config()
    config.read(text, str(file))
    for name, value in config.values.items():
        assert type(value) is type(defaults(shell=True)[name]) or isinstance(value, str), (name, value)
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
