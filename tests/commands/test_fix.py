"""`fix` shows a diff and applies it to the session that a person types in; `gradsh fix` mends a file."""

from gradsh.contracts.events import Failure, Result
from gradsh.run.fix import fix_file
from gradsh.session.session import Session

TWICE = "x = torch.ones(2, requires_grad=True)\nz = (x * x).sum()\nz.backward()\nz.backward()\n"
CARRIED = (
    "class Cell:\n    def __init__(self):\n        self.h = torch.zeros(2)\n    def step(self, w):\n"
    "        self.h = torch.tanh(self.h * w + 1)\n        return self.h.sum()\n"
    "w = torch.ones(2, requires_grad=True)\ncell = Cell()\nfor i in range(3):\n    cell.step(w).backward()\n"
)


def typed(*inputs: str) -> tuple[Session, list[object]]:
    """A session in which a person typed some inputs, and the events."""
    session, events, line = Session(typed=True), [], 1
    session.asker = lambda _: "y"
    for text in inputs:
        session.run(text, events.append, name="<shell>", first_line=line)
        line += text.count("\n") + 1
    return session, events


def test_the_first_fix_is_applied_to_the_session() -> None:
    session, events = typed(*TWICE.splitlines(), "fix")
    report = next(event.report for event in events if isinstance(event, Result))
    assert report.diff == ("- 3 | z.backward()", "+ 3 | z.backward(retain_graph=True)")
    assert report.tried
    assert "the error is gone" in report.outcome
    assert session.state.failed is None
    assert session.machine.program["x"].grad.tolist() == [4.0, 4.0]


def test_another_fix_is_taken_by_its_number() -> None:
    _, events = typed(*TWICE.splitlines(), "fix 2")
    report = next(event.report for event in events if isinstance(event, Result))
    assert "compute it again" in report.words
    _, events = typed(*TWICE.splitlines(), "fix 20")
    assert [event.problem.kind for event in events if isinstance(event, Failure)][-1] == "value"


def test_a_file_is_mended(tmp_path, capsys) -> None:
    path = tmp_path / "cell.py"
    path.write_text("import torch\n" + CARRIED)
    assert fix_file(str(path)) == 0
    assert path.read_text() == "import torch\n" + CARRIED
    assert fix_file(str(path), apply=True, everything=True) == 0
    assert ".h = cell.h.detach()" in path.read_text() or "self.h = self.h.detach()" in path.read_text()
    assert "runs now" in capsys.readouterr().out
    failures: list[object] = []
    Session().run(path.read_text(), lambda event: failures.append(event) if isinstance(event, Failure) else None)
    assert failures == []
    assert fix_file(str(tmp_path / "missing.py")) == 2
