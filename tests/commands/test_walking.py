"""`backward --step` as a debugger: expressions at its prompt, conditions to stop at, steps taken back, breaks that are kept."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradsh.contracts.events import Print, Result, Value
from gradsh.engine.graph.node import Node
from gradsh.probe.snapshot import nodes_below
from gradsh.probe.walk import StepRecorder
from gradsh.render.style import Style
from gradsh.render.text import event_text
from tests.probe.asking import Asked


def test_walk_evaluates_what_is_no_word():
    asked = Asked("x = ones(2, requires_grad=True)\nz = (x * 3).exp().sum()")
    left = ["", "grad_in * 2", "grad_out", "x.grad", "bogus", "plan z", "y = 1", "until x", "x.grad", ""]
    asked.session.asker = lambda _prompt: left.pop(0)
    asked.run("backward z --step")
    lines = [event_text(event, Style())[1] for event in asked.events if isinstance(event, Result)]
    assert left == []
    assert [problem.kind for problem in asked.failures] == ["name"]
    values = [event.text for event in asked.events if isinstance(event, Value)]
    assert [value.partition(",")[0] for value in values] == ["tensor([2.", "tensor([20.0855", "tensor([60.2566"]
    assert any(line.startswith("would fail: error[freed]") for line in lines)
    assert asked["y"] == 1
    assert [entry.text for entry in asked.session.state.history][-1] == "backward z --step"


def state_of(asked: Asked) -> tuple[object, ...]:
    grads = [None if asked[name].grad is None else (asked[name].grad.tolist(), asked[name].grad._version) for name in ("x", "w")]
    return grads, [saved.freed for node in nodes_below(asked["z"].grad_fn) for saved in node.saved]


STEPPED = (
    "x = ones(2, requires_grad=True)\nw = ones(2, requires_grad=True)\nh = (x * w).exp()\nh.retain_grad()\n(x.sum() * 3).backward()\n"
    "k = h.sin() * 1\nk[0] = 2 * w[0]\nz = (k * w).sum()\n"
)


@pytest.mark.parametrize("steps", [1, 3, 6])
def test_abort_leaves_all_as_it_was(steps):
    asked = Asked(STEPPED)
    before = state_of(asked)
    left = [*[""] * (steps - 1), "abort"]
    asked.session.asker = lambda _prompt: left.pop(0)
    asked.run("backward z --step")
    assert [(problem.kind, "aborted" in problem.message) for problem in asked.failures] == [("interrupt", True)]
    assert state_of(asked) == before
    twin = Asked(STEPPED + "backward z")
    asked.run("backward z")
    assert (asked.failures, state_of(asked)) == ([], state_of(twin))


def test_back_takes_back_what_the_nodes_did():
    asked = Asked(STEPPED)
    seen = []
    answers = ["", "", "", "", "", "", "", "back 4", "", "", "b", "rest"]

    def ask(_prompt: str) -> str:
        seen.append(state_of(asked))
        return answers[len(seen) - 1]

    asked.session.asker = ask
    asked.run("backward z --step")
    assert asked.failures == []
    assert seen[8:11] == seen[3:6]
    assert seen[11] == seen[4]
    assert state_of(asked) == state_of(Asked(STEPPED + "backward z"))


def test_a_pass_that_was_stepped_tells_what_it_released():
    answers = ["", "", "b", "rest"]
    stepped, plain = Asked(text := "x = ones(2, requires_grad=True)\nz = (x * 3).exp().sum()"), Asked(text)
    stepped.session.asker = lambda _prompt: answers.pop(0)
    assert stepped.report("backward z --step").account == plain.report("backward z")


@pytest.mark.parametrize(("condition", "steps"), [
    ("line 2", "1. 3."), ("nan", "1. 3."), ("inf", "1. 2."), ("|g| > 1e3", "1. 2."), ("x.grad", "1. 3."), ("SqrtBackward0", "1. 2."),
    ("grad_out.isnan().any()", "1. 3."), ("|g| < 0", "1."),
])
def test_until_a_condition(condition, steps):
    asked = Asked("x = zeros(2, requires_grad=True)\nh = x * 0\nz = h.sqrt().sum()\n")
    answers = [f"until {condition}", "rest"]
    asked.session.asker = lambda _prompt: answers.pop(0)
    asked.run("backward z --step")
    shown = [event.text for event in asked.events if isinstance(event, Print) and event.text[:1].isdigit()]
    assert " ".join(text.partition(" ")[0] for text in shown) == steps
    assert asked.failures == []


def test_until_a_module_and_back_no_farther_than_the_first_node():
    asked = Asked("net = nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Tanh()), nn.Linear(2, 1))\nz = net(ones(1, 2)).exp().sum()\n")
    answers = ["until net[0][0]", "back 9", "back 3", "until net[1]", "rest"]
    asked.session.asker = lambda _prompt: answers.pop(0)
    asked.run("backward z --step")
    shown = [event.text for event in asked.events if isinstance(event, Print)]
    steps = [text.partition("\n")[0] for text in shown if text[:1].isdigit()]
    assert [line.rpartition("in ")[2] for line in steps][1:2] == ["net[0][0]"]
    assert [line.rpartition("in ")[2] for line in steps][-1] == "net[1]"
    assert "`back 5` goes to the first node; `abort` leaves the pass" in shown
    assert asked.failures == []


def test_what_no_one_looks_at_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Node] = []
    before = StepRecorder.before
    monkeypatch.setattr(StepRecorder, "before", lambda self, node, grads: seen.append(node) or before(self, node, grads))
    loop = "x = ones(2, requires_grad=True)\nh = x\nfor i in range(30):\n    h = h.tanh()\n\nz = h.sum()\n"
    for answers, shown in ((["rest"], 1), (["", "continue"], 2), (["", "", "", "back", "", "rest"], 6)):
        seen.clear()
        assert stepped(loop, answers).failures == []
        assert len(seen) == shown


def test_a_break_is_kept_over_backwards():
    asked = Asked("x = ones(2, requires_grad=True)\nz = (x * 3).exp().sum()")
    for answers, shown in ((["break ExpBackward0", "c", "c"], 2), (["continue", "break off", "c"], 2), (["c"], 1)):
        asked.session.asker = lambda _prompt, left=answers: left.pop(0)
        asked.run("backward z --step --retain")
        assert (len([one for one in asked.events if isinstance(one, Print) and one.text[:1].isdigit()]), answers) == (shown, [])


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Return a program of a few operations on zeros and small numbers, some with retained gradients."""
    lines = ["x = tensor([0., 1., 4.], requires_grad=True)", "w = tensor([0., 2., 1.], requires_grad=True)"]
    lines += draw(st.sampled_from([[], ["(x * w).sum().backward()"]]))
    names = ["x", "w"]
    for number in range(draw(st.integers(1, 6))):
        one, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        unary = ["exp()", "tanh()", "sqrt()", "log()", "abs()"]
        word = draw(st.sampled_from([*unary, f"mul({other})", f"div({other})", f"add({other})"]))
        names.append(f"v{number}")
        lines.append(f"v{number} = {one}.{word}")
        lines += draw(st.sampled_from([[], [f"v{number}.retain_grad()"]]))
    return "\n".join([*lines, f"z = ({names[-1]} * {draw(st.sampled_from(names))}).sum()"])


def whole_state(asked: Asked) -> str:
    """Return gradients and their versions, and what each node of the graph has saved."""
    tensors = [one for name, one in asked.session.machine.program.items() if re.fullmatch(r"x|w|z|v\d", name)]
    found = [None if one.meta is None else one.meta.grad for one in tensors]
    grads = [None if grad is None else (grad.tolist(), grad._version) for grad in found]
    saved = [
        (one.name, one.freed, None if one.array is None else one.array.tolist())
        for node in nodes_below(asked["z"].grad_fn) for one in node.saved
    ]
    return repr((grads, saved))


def stepped(program: str, answers: list[str], seen: list[str] | None = None) -> Asked:
    """Run a program, then a backward by steps with these answers."""
    asked, left = Asked(program), [*answers]

    def ask(_prompt: str) -> str | None:
        if seen is not None:
            seen.append(whole_state(asked))
        return left.pop(0) if left else "rest"

    asked.session.asker = ask
    return asked.run("backward z --step")


@settings(max_examples=8, deadline=None)
@given(programs(), st.integers(0, 9), st.integers(1, 4))
def test_steps_back_and_abort_restore_everything(program: str, forward: int, back: int) -> None:
    before, after = whole_state(Asked(program)), whole_state(Asked(program + "\nbackward z"))
    seen: list[str] = []
    asked = stepped(program, [*[""] * forward, f"back {back}"], seen)
    if back <= forward < len(seen):
        assert seen[forward + 1] == seen[forward - back]
    assert whole_state(asked) == after
    assert whole_state(stepped(program, [*[""] * min(forward, len(seen) - 1), "abort"])) == before


@settings(max_examples=10, deadline=None)
@given(programs())
def test_until_nan_stops_at_the_node_that_anomaly_mode_names(program: str) -> None:
    told = Asked(f"{program}\ntorch.autograd.set_detect_anomaly(True)\nz.backward()").failures
    named = re.match(r"Function '(\w+)' returned nan", told[0].message) if told else None
    asked = stepped(program, ["until nan", "quit"])
    stops = [event.text for event in asked.events if isinstance(event, Print) and re.match(r"\d+\. ", event.text)]
    if told:
        assert named is not None
        assert named[1] in stops[-1].split()
    else:
        assert "backward ended before reaching nan" in [event.text for event in asked.events if isinstance(event, Print)]
