"""Every example in the documents is run: scripts as golden tests, sessions line by line against what they show."""

import re
from pathlib import Path

import pytest

from gradsh.batch import RunOptions, Script
from gradsh.events import Done, Event
from gradsh.golden.check import check_script
from gradsh.golden.compare import Tolerance, agree
from gradsh.golden.report import failure_lines
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.session import Session
from gradsh.text.expectations import Expected

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```grad\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(match.group(1), id=f"{path.name}:{path.read_text('utf-8').count(chr(10), 0, match.start()) + 1}")
    for path in DOCUMENTS for match in FENCE.finditer(path.read_text(encoding="utf-8"))
]
PROMPT, MORE = "grad> ", "....> "


@pytest.mark.parametrize("text", EXAMPLES)
def test_example(text: str) -> None:
    if text.startswith(PROMPT):
        check_session(text)
    else:
        checked = check_script(Script("example.grad", text), RunOptions(), Tolerance())
        assert checked.passed, "\n".join(failure_lines(checked, Style()))


def check_session(text: str) -> None:
    """Type what follows the prompts and compare what comes out."""
    session = Session()
    line = 1
    for typed, shown in turns(text):
        out: list[str] = []

        def emit(event: Event, out: list[str] = out) -> None:
            told = None if isinstance(event, Done) else event_text(event, Style())
            if told is not None:
                out.append(told[1])

        session.run(typed, emit, first_line=line)
        line += typed.count("\n") + 1
        actual = "".join(out).splitlines()
        expected = [Expected(0, "#>", one) for one in shown]
        assert agree(expected, actual, Tolerance()), f"{typed}\nshows\n" + "\n".join(actual)


def turns(text: str) -> list[tuple[str, list[str]]]:
    """(what is typed, the lines shown) of a session."""
    out: list[tuple[str, list[str]]] = []
    for one in text.splitlines():
        if one.startswith(PROMPT):
            out.append((one.removeprefix(PROMPT), []))
        elif one.startswith(MORE.rstrip()):
            out[-1] = (out[-1][0] + "\n" + one.removeprefix(MORE), [])
        else:
            out[-1][1].append(one)
    return out


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_links_lead_somewhere() -> None:
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"
