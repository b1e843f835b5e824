"""What is packed by hooks, or computed again by a checkpoint, is counted by the bytes that stand in its place."""

import pytest

from gradsh.contracts.events import Result, Value
from gradsh.render.style import Style
from gradsh.render.text import lines_of
from gradsh.session.session import Session

CHECKPOINT = """
from torch.utils.checkpoint import checkpoint
w = ones(8, requires_grad=True)
x = ones(8)
y = checkpoint(lambda a: (a * w).exp().sin(), x * 2, use_reentrant=False)
z = y.sum()
"""

PACKED = """
w = ones(8, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: PACK, lambda p: ones(8)):
    z = w.exp().sum()
"""


def told(text):
    events = []
    Session().run(text, events.append, name="script")
    return events


def live(text):
    return int(next(event.text for event in told(text + "live_bytes()\n") if isinstance(event, Value)))


def test_a_checkpoint_keeps_its_arguments():
    assert live(CHECKPOINT) == 32
    assert live(CHECKPOINT + "z.backward()\n") == 0


@pytest.mark.parametrize(("pack", "nbytes"), [
    ("t.detach().clone()", 32), ("(t.shape, t[:4].clone())", 16), ("{'a': [t[:1].clone()]}", 4), ("t.shape", 0),
])
def test_a_hook_keeps_what_it_packed(pack, nbytes):
    assert live(PACKED.replace("PACK", pack)) == nbytes


def test_a_packed_entry_is_no_modified_one():
    events = told(CHECKPOINT + "with torch.no_grad():\n    w += 1\n\nbuffers z\n")
    report = next(event.report for event in events if isinstance(event, Result))
    assert {row.state for row in report.rows} == {"packed"}
    assert report.totals.packed_bytes == 32


def test_a_pass_does_not_claim_to_know_what_packed_tensors_give_back():
    for command in ("plan z", "backward z"):
        report = [event.report for event in told(CHECKPOINT + command + "\n") if isinstance(event, Result)][-1]
        freed = getattr(report, "would", report).freed
        assert freed
        assert all(one.packed for one in freed)
    lines = [line for event in told(CHECKPOINT + "backward z\n") if isinstance(event, Result) for line in lines_of(event.view(), Style())]
    assert lines[0].startswith("ran ")
    assert "packed" in lines[0]
    assert "releasing" not in lines[0]


def shown(command):
    events = told(CHECKPOINT + command + "\n")
    return "\n".join(line for event in events if isinstance(event, Result) for line in lines_of(event.view(), Style()))


def test_what_a_checkpoint_computes_again_is_shown_as_recomputed():
    assert "recomputed by its checkpoint" in shown("graph z")
    table = shown("buffers z")
    assert "not kept: a checkpoint recomputes them for backward: 32 B kept instead" in table
    assert "packed" not in table


def test_what_a_hook_packs_is_not_shown_as_recomputed():
    events = told(PACKED.replace("PACK", "t.shape") + "buffers z\ngraph z\n")
    text = "\n".join(line for event in events if isinstance(event, Result) for line in lines_of(event.view(), Style()))
    assert "packed by a hook" in text
    assert "recomputed" not in text


def test_memory_counts_what_a_checkpoint_recomputes():
    assert "saved tensors not kept: a checkpoint recomputes them for backward" in shown("memory")
    assert "not kept" not in shown("z.backward()\ndel y, z\nmemory").rpartition("owner")[2]
