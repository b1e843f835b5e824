"""`fix` shows a diff and applies it to the session that a person types in; `gradsh fix` mends a file."""

import re

from gradsh.commands.save import script_of
from gradsh.contracts.events import Failure, Result
from gradsh.golden.documents import check_file
from gradsh.run.fix import fix_file
from gradsh.run.read import Script
from gradsh.run.script import RunOptions, module_reader
from gradsh.session import trial
from gradsh.session.session import Session
from tests.terminal import Terminal

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
    assert report.gradients == (("x", "[2, 2]", "[4, 4]"),)
    assert session.state.failed is None
    assert session.machine.program["x"].grad.tolist() == [4.0, 4.0]


def test_another_fix_is_taken_by_its_number() -> None:
    _, events = typed(*TWICE.splitlines(), "fix 2")
    report = next(event.report for event in events if isinstance(event, Result))
    assert "compute it again" in report.words
    _, events = typed(*TWICE.splitlines(), "fix 20")
    assert [event.problem.kind for event in events if isinstance(event, Failure)][-1] == "value"


def test_what_failed_otherwise_is_told_apart_and_fix_is_not_saved() -> None:
    session, events = typed("1 / 0", *TWICE.splitlines(), "fix")
    report = next(event.report for event in events if isinstance(event, Result))
    assert "the error is gone; line 1 still fails" in report.outcome
    text, kept, left_out = script_of(session.state, failed=False)
    assert (kept, left_out) == (4, 1)
    assert "retain_graph=True" in text
    assert "fix" not in text


def test_a_file_is_mended(tmp_path, capsys) -> None:
    path = tmp_path / "cell.py"
    path.write_text("import torch\n" + CARRIED)
    assert fix_file(str(path)) == 0
    assert path.read_text() == "import torch\n" + CARRIED
    assert fix_file(str(path), apply=True, everything=True) == 0
    assert ".h = cell.h.detach()" in path.read_text() or "self.h = self.h.detach()" in path.read_text()
    shown = capsys.readouterr().out
    assert re.search(r"leaf +gradient before +gradient now\n  w +\[0, 0\] +\[0\.1592, ", shown)
    assert "now runs" in shown
    failures: list[object] = []
    Session().run(path.read_text(), lambda event: failures.append(event) if isinstance(event, Failure) else None)
    assert failures == []
    assert fix_file(str(tmp_path / "missing.py")) == 2


def test_a_script_is_fixed_and_tested_with_what_it_imports_from_beside_it(tmp_path, capsys) -> None:
    (tmp_path / "model.py").write_text("import torch\ndef loss(x):\n    return (x * x).sum()\n")
    path = tmp_path / "a.grad"
    path.write_text("from model import loss\nx = torch.ones(2, requires_grad=True)\nz = loss(x)\nz.backward()\nz.backward()\n")
    assert fix_file(str(path)) == 0
    assert "+ 4 | z.backward(retain_graph=True)" in capsys.readouterr().out
    path.write_text("from model import loss\nloss(torch.ones(2))\n#> tensor(2.)\n")
    assert check_file(str(path), RunOptions()).passed


def test_a_person_types_fix_and_sees_what_changed() -> None:
    with Terminal("--plain") as terminal:
        for line in TWICE.splitlines():
            terminal.see("grad>")
            terminal.feed(line)
        terminal.see("error[freed]")
        terminal.feed("fix")
        terminal.see("+ 3 | z.backward(retain_graph=True)")
        terminal.see("the error is gone")
        terminal.see("gradient before")
        terminal.see("[2, 2]")
        terminal.feed("x.grad")
        terminal.see("tensor([4., 4.])")
        terminal.press("quit\r")
        assert terminal.status() == 0


def test_two_edits_together_help_where_neither_does_alone(tmp_path, capsys) -> None:
    path = tmp_path / "items.py"
    path.write_text("import torch\nw = torch.ones(2, requires_grad=True)\ntotal = 0.0\nfor x in torch.ones(3, 2):\n"
                    "    total += (w * x).sum().item()\nloss = torch.tensor(total)\nloss.backward()\n")
    assert fix_file(str(path), apply=True) == 0
    assert "total += (w * x).sum()\nloss = total\n" in path.read_text()
    assert re.search(r"w +none +\[3, 3\]", capsys.readouterr().out)


def test_what_is_tried_is_counted_in_steps_not_in_seconds(monkeypatch) -> None:
    """A program that runs for long is not tried to its end: its passes are counted, and the trial ends at the same one."""
    for name in ("AT_ONCE", "WHEN_ASKED"):
        monkeypatch.setattr(trial, name, getattr(trial, name)._replace(steps=500))
    session, _ = typed("for i in range(3000):\n    pass\n", *TWICE.splitlines(), "why")
    assert not any(fix.tried for fix in session.state.failed.problem.fixes)


def test_a_module_beside_the_script_is_mended(tmp_path, capsys) -> None:
    module, script = tmp_path / "model.py", tmp_path / "train.py"
    module.write_text("def loss_of(x):\n    h = x.exp()\n    h.add_(1)\n    return h.sum()\n")
    script.write_text("import torch\nfrom model import loss_of\nx = torch.ones(2, requires_grad=True)\nloss_of(x).backward()\n")
    assert fix_file(str(script)) == 0
    shown = capsys.readouterr().out
    assert f"in {module}: write line 3 out of place: `h = h.add(1)`" in shown
    assert "+ 3 |     h = h.add(1)" in shown
    assert "    h.add_(1)\n" in module.read_text()
    before = script.read_text()
    assert fix_file(str(script), apply=True) == 0
    assert "    h = h.add(1)\n" in module.read_text()
    assert script.read_text() == before
    session, _ = typed()
    module.write_text("def loss_of(x):\n    h = x.exp()\n    h.add_(1)\n    return h.sum()\n")
    session.machine.read_module = module_reader(Script(str(script), before))
    events: list[object] = []
    session.run(before, events.append, name=str(script))
    session.run("fix", events.append, name="<shell>")
    report = next(event.report for event in events if isinstance(event, Result))
    assert report.outcome.startswith(f"edit {module}, then run the script again")


def test_a_view_that_became_invalid_is_no_obstacle(tmp_path, capsys) -> None:
    script = tmp_path / "triple.py"
    script.write_text(
        "import torch\nclass Triple(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return torch.tensor(x.tolist()).mul(3).view(-1)\n    @staticmethod\n    def backward(ctx, g):\n        return g * 3\n"
        "x = torch.ones(2, requires_grad=True)\nout = Triple.apply(x)\nwith torch.no_grad():\n    out.fill_(1)\nout.sum().backward()\n",
    )
    assert fix_file(str(script)) == 0
    assert "x     none             [3, 3]" in capsys.readouterr().out
