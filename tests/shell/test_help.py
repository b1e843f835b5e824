"""Help: one screen, and for each operation an example that shows what a session would show."""

from gradsh.commands.example import example_of
from gradsh.commands.help import about, run
from gradsh.contracts.events import Value
from gradsh.engine.registry import every_operation
from gradsh.session.session import Session


def test_the_overview_fits_a_small_screen_and_leads_on() -> None:
    lines = run(Session().state).lines
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 60
    assert "tour" in lines[-1]


def test_the_overview_names_every_command() -> None:
    from gradsh.commands import USAGE

    words = " ".join(run(Session().state).lines).split()
    assert set(USAGE) <= set(words)


def test_every_example_of_an_operation_is_what_a_session_shows() -> None:
    session, seen = Session(), 0
    for operation in sorted(every_operation().values(), key=lambda one: one.name):
        spaced = [space for space in operation.spaces if operation.name.startswith(f"{space}_")]
        lines = example_of(operation, operation.name.removeprefix(f"{spaced[0]}_") if spaced else operation.name)
        if lines:
            shown: list = []
            session.run(lines[0].removeprefix("grad> "), shown.append)
            assert ["\n".join(lines[1:])] == [one.text for one in shown if isinstance(one, Value)], lines
            seen += 1
    assert seen > 100


def test_dotted_names_variables_and_kinds() -> None:
    session = Session()
    session.run("import torch.nn.functional as F\nx = ones(2, requires_grad=True)\nnet = nn.Linear(2, 1)", lambda _: None)
    assert "MeanBackward0" in " ".join(about(session.state, "x.mean"))
    assert "relu" in about(session.state, "F.relu")[0]
    assert about(session.state, "nn.Linear")[0].startswith("nn.Linear(in_features")
    assert "a leaf" in about(session.state, "x")[0]
    assert about(session.state, "net")[0] == "net: Linear"
    assert "explain freed" in about(session.state, "freed")[-1]
    assert about(session.state, "no.such.name") == []


def test_what_the_program_defined_is_shown_as_it_was_written() -> None:
    session, shown = Session(), []
    session.run("class Net(nn.Module):\n    def forward(self, x):\n        return x\nnet = Net()\nx = ones(1)", shown.append)
    assert about(session.state, "Net")[0] == "  class Net(nn.Module):"
    assert about(session.state, "net.forward") == about(session.state, "Net.forward") == ["  def forward(self, x):", "      return x"]
    assert about(session.state, "x.backward")[0].startswith("x.backward(self, gradient")
    assert about(session.state, "x.grad")[0].startswith("x.grad: None. The sum of the gradients")
    assert about(session.state, "len") == ["len(obj, /)", "  Return the number of items in a container."]
    assert about(session.state, "net.nothing") == []


def test_a_bare_name_is_python_s_before_pytorch_s_as_in_the_language() -> None:
    state = Session().state
    assert about(state, "sum")[0] == "sum(iterable, /, start=0)"
    assert any("SumBackward0" in line for line in about(state, "sum"))
    assert "Return the sum" not in " ".join(about(state, "torch.sum"))
    assert about(state, "freed")[0] == "freed(tensor: torch.Tensor) -> bool"
    assert about(state, "nn.Module.register_forward_hook")[0].startswith("nn.Module.register_forward_hook(self, hook")


def test_keys_are_named_where_there_are_some() -> None:
    state = Session().state
    assert not any("help keys" in line for line in run(state).lines)
    state.settings.keys = (("Enter", "run it"),)
    assert any("help keys" in line for line in run(state).lines)
    assert about(state, "keys") == ["  Enter  run it"]
