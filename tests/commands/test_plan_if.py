"""`plan --if` and `plan --best`: what is foreseen of a change is what the changed program does."""

import tracemalloc

import pytest

from tests.probe.asking import Asked

PROGRAM = """net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
x = randn(64, 4)
h = net[:2](x)
z = (net[2:](h) * 2).pow(2).mean()
"""


def outlooks(asked: Asked, *changes: str) -> dict[str, object]:
    asked_for = " ".join(f'--if "{change}"' for change in changes)
    return {one.what: one for one in asked.report(f"plan z {asked_for}").outlooks}


@pytest.mark.parametrize(("change", "old", "new"), [
    ("detach h", "h = net[:2](x)", "h = net[:2](x).detach()"),
    ("no_grad net[0]", "h = net[:2](x)", "with torch.no_grad():\n    g = net[0](x)\n\nh = net[1](g)"),
])
def test_a_change_is_foreseen_as_the_changed_program_is(change, old, new):
    asked = Asked(PROGRAM)
    foreseen = outlooks(asked, change)[change]
    made = outlooks(Asked(PROGRAM.replace(old, new)), "retain z")["today"]
    assert (foreseen.nodes, foreseen.freed, foreseen.kept) == (made.nodes, made.freed, made.kept)
    assert foreseen.saved == made.saved
    assert asked["net"][0].weight.grad is None


def test_what_is_retained_is_kept():
    found = outlooks(Asked(PROGRAM), "retain h", "retain z")
    assert found["today"].kept == 0
    assert found["today"].freed == found["today"].saved == found["retain z"].kept
    assert 0 < found["retain h"].kept < found["retain z"].kept
    assert found["retain z"].peak >= found["today"].peak


def test_today_is_what_backward_does():
    asked = Asked(PROGRAM)
    foreseen = outlooks(asked, "retain h")["today"]
    totals = asked.report("buffers z").totals
    assert foreseen.saved == foreseen.freed == totals.unique_bytes - totals.parameter_bytes
    assert foreseen.nodes == asked.report("backward z").ran


def test_a_checkpoint_keeps_its_input_and_computes_the_rest_again():
    asked = Asked(PROGRAM)
    found = outlooks(asked, "checkpoint net[3]", "checkpoint net[4]")
    today, then, last = found["today"], found["checkpoint net[3]"], found["checkpoint net[4]"]
    assert (then.nodes, then.recomputed, last.recomputed) == (today.nodes, 1, 2)
    assert then.saved == today.saved + 64 * 8 * 4  # the layer above saves what tanh returns in any case
    assert last.saved == today.saved  # tanh itself saves it


def test_data_that_several_checkpointed_calls_read_stays_and_is_freed_once():
    text = "cell = nn.RNNCell(64, 4)\nxs = randn(20, 8, 64)\nh = zeros(8, 4)\nfor x in xs:\n    h = cell(x, h)\n\nz = h.sum()\n"
    today, then = outlooks(Asked(text), "checkpoint cell").values()
    data, states = 20 * 8 * 64 * 4, 19 * 8 * 4 * 4  # the first state is data, too, which only one call reads
    assert then.saved == data + states
    assert then.freed <= today.freed + states
    assert then.recomputed > 0


def test_what_leaves_nothing_to_differentiate_is_told():
    asked = Asked("net = nn.Linear(2, 1)\nz = net(ones(1, 2)).sum()\n")
    assert asked.report('plan z --if "no_grad net"').failing == ("no_grad net",)
    assert "backward would fail" in asked.shown('plan z --if "no_grad net"')


@pytest.mark.parametrize(("option", "words"), [
    ('--if "paint h"', "is no change"), ('--if "checkpoint nut"', "(modules: "), ('--if "detach nobody"', "no tensor with a graph"),
    ("--best many", "--best"),
])
def test_what_cannot_be_read_is_refused(option, words):
    asked = Asked(PROGRAM).run(f"plan z {option}")
    assert any(words in one.message for one in asked.failures)


def test_modules_are_proposed_for_a_peak():
    layers = "e = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 4)\nq = e(randn(4, 9, 8)).sum()\n"
    asked = Asked(PROGRAM + layers)
    today = asked.report('plan q --if "retain q"').outlooks[0].peak
    assert asked.report(f"plan q --best {today}").modules == ()
    found = asked.report(f"plan q --best {today * 2 // 3}")
    assert found.fits
    assert found.then.peak <= today * 2 // 3
    assert 0 < found.then.recomputed < found.today.nodes
    none = asked.report("plan q --best 10")
    assert not none.fits
    assert "no choice of modules fits" in asked.shown("plan q --best 10")


BLOCKS = "net = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU()) for i in range(4)])\n"
STEPS = ("x = randn(8192, 64)", "g = net[0](x)", "h = net[1](g)", "z = net[3](net[2](h)).pow(2).mean()")
CHECKPOINT = "h = torch.utils.checkpoint.checkpoint(net[1], g, use_reentrant=False)"


@pytest.mark.parametrize(("change", "place", "line"), [
    ("", 2, STEPS[2]), ("checkpoint net[1]", 2, CHECKPOINT), ("no_grad net[0]", 1, "with torch.no_grad():\n    g = net[0](x)\n"),
    ("detach h", 2, "h = net[1](g).detach()"),
])
def test_the_peak_is_at_most_a_fifth_above_what_the_changed_program_takes(change, place, line):
    found = outlooks(Asked(BLOCKS + "\n".join(STEPS)), change or "retain z")
    changed = Asked(BLOCKS + "net(randn(2, 64)).sum().backward()\nnet.zero_grad()\n")  # what is used first is imported
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    changed.run("\n".join([*STEPS[:place], line, *STEPS[place + 1 :], "del x, g, h"]))
    tracemalloc.reset_peak()
    changed.run("z.backward()")
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert 0.95 * peak <= found[change or "today"].peak <= 1.2 * peak
