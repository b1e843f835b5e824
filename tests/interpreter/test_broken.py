"""A corpus of broken scripts (`broken.txt`): each gives a located error of its kind, with help or a story; none a traceback."""

from pathlib import Path

import pytest

from gradsh.contracts.events import Failure
from gradsh.render.diagnostic import draw
from gradsh.render.style import Style
from gradsh.session.session import Session


def corpus() -> list[tuple[str, int, str]]:
    """Return (kind, line, script) of each script; its first failure has that kind and line."""
    found = []
    for part in Path(__file__).with_name("broken.txt").read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        kind, line = head.split()
        found.append((kind, int(line), text))
    return found


CORPUS = corpus()


def test_the_corpus_is_large():
    assert len(CORPUS) > 250
    assert len({kind for kind, _, _ in CORPUS}) > 15


@pytest.mark.parametrize(("kind", "line", "text"), CORPUS, ids=[f"{n}-{row[0]}" for n, row in enumerate(CORPUS)])
def test_a_broken_script_gives_a_located_error(kind, line, text):
    events = []
    Session().run(text, events.append, name="script", keep_going=True)
    failures = [event for event in events if type(event) is Failure]
    assert (failures[0].problem.kind, failures[0].line) == (kind, line)
    lines = text.count("\n") + 1
    for failure in failures:
        labels = failure.problem.labels
        assert any(label.role in {"needed", "operand"} for label in labels)
        assert all(1 <= label.span.line <= lines and label.span[:2] < label.span[2:] for label in labels)
        shown = "\n".join(draw(failure.problem, failure.source, Style()))
        assert "^" in shown
        assert "Traceback" not in shown
        assert "gradsh itself failed" not in shown
