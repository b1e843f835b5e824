"""Whatever is run or tested, no exception of ours gets out."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradsh.golden.check import check_script
from gradsh.golden.compare import Tolerance
from gradsh.golden.machine_reports import annotations, cases, junit, tap
from gradsh.golden.pending import pending_of
from gradsh.golden.report import failure_lines
from gradsh.golden.update import proposed
from gradsh.process.limits import Limits
from gradsh.render.json import line_of
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.run.read import Script
from gradsh.run.script import RunOptions
from gradsh.session.session import Session
from tests.sweep import draws

PIECES = st.sampled_from([
    "x", "y = ", "ones(2)", "backward ", "x.exp()", "graph ", "--retain", "\n", "\n    ", "for i in range(2):", "(", ")",
    "[", "]", "'", '"""', "#> ", "#! ", "#>> a.out", "#/ [ /", "#@ rtol=1",
    "#@ skip=", '#@ xfail="', " if=python>3", "#@ [A] /", "...", "[..]", "1.5", "requires_grad=True",
    "print(", ";", ":", ",", "\\", "\t", "\x00", "\x1b", "é", "\ud800", "lambda: ", "def f():", "return ", "import torch", ">>> ",
    "expect error ", "freed: ", "if ", "else", "**", "@", "f'{x}'", "del x", "with torch.no_grad():", "class A:", "  ",
])
PROGRAMS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40)
FEW = settings(max_examples=draws(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
LIMITS = Limits(timeout=5, max_output=10_000)


@FEW
@given(PROGRAMS)
def test_every_text_runs_or_fails_with_events(text: str) -> None:
    session = Session(limits=LIMITS)

    def emit(event: object) -> None:
        shown = event_text(event, Style())  # type: ignore[arg-type]
        assert shown is None or isinstance(shown[1], str)
        line_of(event)  # type: ignore[arg-type]

    session.run(text, emit, keep_going=True)
    emit(session.snapshot())


@FEW
@given(PROGRAMS)
def test_every_golden_is_judged_and_updated(text: str) -> None:
    checked = check_script(Script("a.grad", text), RunOptions(limits=LIMITS), Tolerance())
    failure_lines(checked, Style())
    for by_statement in (False, True):
        found = cases([checked], [], by_statement=by_statement)
        junit(found).encode()
        list(tap(found))
    list(annotations([checked], []))
    proposed(checked)
    for one in pending_of(checked).differences:
        assert checked.text.split("\n")[one.at - 1 : one.at - 1 + len(one.old)] == list(one.old)


@FEW
@given(st.lists(st.text(alphabet=st.characters(blacklist_characters="\n\r"), max_size=12), max_size=6))
def test_an_update_makes_the_test_pass(lines: list[str]) -> None:
    text = "".join(f"print({line!r})\n#>\n" for line in lines)
    options, tolerance = RunOptions(limits=LIMITS), Tolerance()
    for _ in range(2):
        checked = check_script(Script("a.grad", text), options, tolerance)
        text = proposed(checked).text
    assert check_script(Script("a.grad", text), options, tolerance).passed, text
