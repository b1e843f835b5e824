"""`plan --fits SIZE --vary NAME` on PyTorch: the bytes of gradsh's own engine, of real steps, and of models without memory."""

from typing import Any

import pytest

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
torch = pytest.importorskip("torch")

from gradsh.contracts.events import Failure, Result  # noqa: E402
from gradsh.lens.engine import TorchSession  # noqa: E402
from gradsh.session.session import Session  # noqa: E402
from tests.commands.test_plan_fits import ENCODER, NET  # noqa: E402


def report(session: Session, text: str) -> Any:
    events: list[Any] = []
    session.run(text, events.append)
    assert not [event.problem for event in events if isinstance(event, Failure)]
    return [event.report for event in events if isinstance(event, Result)][-1]


@pytest.mark.parametrize("optimizer", ["SGD(net.parameters(), momentum=0.9)", "Adam(net.parameters())"])
def test_a_step_needs_what_it_needs_on_gradshs_engine(optimizer: str) -> None:
    text = NET.format(optimizer=optimizer) + "plan loss --fits 100K --vary batch"
    mine, theirs = report(Session(), text), report(TorchSession(), text)
    assert theirs.plain.budget == mine.plain.budget
    assert theirs.plain.largest == mine.plain.largest


def test_checkpointed_blocks_save_on_pytorch_what_they_do_here() -> None:
    text = ENCODER.format(layers=3) + "plan loss --fits 1M --vary batch"
    mine, theirs = report(Session(), text), report(TorchSession(), text)
    assert theirs.checkpointed.budget.saved == mine.checkpointed.budget.saved
    assert theirs.plain.budget.blocks == mine.plain.budget.blocks == 3


def test_real_sizes_are_planned_without_memory() -> None:
    text = "batch = 8\nnet = nn.Sequential(nn.Linear(65536, 65536), nn.ReLU(), nn.Linear(65536, 10))\n"
    text += "loss = net(torch.empty(batch, 65536)).sum()\nplan loss --fits 80G --vary batch"
    try:
        found = report(TorchSession(device="meta"), text)
    finally:
        torch.set_default_device(None)
    weights = 4 * (65536 * 65536 + 65536 + 655360 + 10)
    assert (found.plain.budget.parameters, found.plain.budget.gradients) == (weights, weights)
    best = found.plain.largest
    assert best.measured
    assert best.nbytes <= 80 << 30 < best.beyond
    assert best.number == (80 * 2**30 - 2 * weights - 4) // (2 * 65536 * 4)  # the input and what ReLU and the last layer share


def test_nothing_of_a_measured_program_stays() -> None:
    before = torch.nn.Module.__call__
    report(TorchSession(), NET.format(optimizer="Adam(net.parameters())") + "plan loss --fits 1M --vary batch")
    assert torch.nn.Module.__call__ is before
    text = "w = randn(3, requires_grad=True)\nplan (w * randn(3)).sum(){}\nx = randn(3)"
    drawn = []
    for option in ("", " --fits 1M"):
        session = TorchSession()
        session.run(text.format(option), lambda _: None)
        drawn.append(session.machine.program["x"])
    assert torch.equal(*drawn)
