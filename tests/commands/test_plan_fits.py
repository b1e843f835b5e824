"""`plan --fits SIZE --vary NAME`: the bytes of a step are those of a real one, the answer is the largest that fits."""

import random

import pytest

from gradsh.contracts.events import Failure, Result
from gradsh.probe.budget import blocks_of
from gradsh.probe.fit import law_of, search
from gradsh.session.session import Session

NET = """\
batch, width = 6, 16
net = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))
optimizer = optim.{optimizer}
x = randn(batch, 4)
loss = net(x).pow(2).sum()
"""
ENCODER = """\
batch, seq = 2, 8
layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
net = nn.TransformerEncoder(layer, {layers})
loss = net(randn(batch, seq, 8)).sum()
"""


def reports(text: str) -> list:
    events: list = []
    Session().run(text, events.append, keep_going=True)
    assert not [event.problem for event in events if isinstance(event, Failure)]
    return [event.report for event in events if isinstance(event, Result)]


def failure(text: str) -> str:
    events: list = []
    Session().run(text, events.append)
    (problem,) = [event.problem for event in events if isinstance(event, Failure)]
    return f"{problem.kind}: {problem.message}"


@pytest.mark.parametrize(
    ("optimizer", "copies"),
    [("SGD(net.parameters(), lr=0.1)", 0), ("SGD(net.parameters(), momentum=0.9)", 1), ("AdamW(net.parameters())", 2)],
)
def test_a_steps_bytes_are_those_of_a_real_step(optimizer: str, copies: int) -> None:
    script = NET.format(optimizer=optimizer)
    fit, real = reports(f"{script}plan loss --fits 1M\nloss.backward()\noptimizer.step()\nloss = net(x).pow(2).sum()\nmemory\n")
    budget = fit.plain.budget
    parameters = 4 * (4 * 16 + 16 + 16 * 2 + 2)
    assert (budget.parameters, budget.gradients) == (parameters, parameters) == (real.now.leaves, real.now.gradients)
    assert copies * parameters <= budget.state <= copies * parameters + 4 * 4  # Adam counts its steps in a number of 4 bytes each
    assert budget.total == real.now.total


@pytest.mark.parametrize(("size", "name"), [("4K", "batch"), ("100K", "batch"), ("100K", "width"), ("20M", "width")])
def test_the_answer_fits_and_the_next_number_does_not(size: str, name: str) -> None:
    script = NET.format(optimizer="Adam(net.parameters())")
    (fit,) = reports(f"{script}plan loss --fits {size} --vary {name}")
    best = fit.plain.largest
    assert best.measured
    for number, fits in ((best.number, True), (best.number + 1, False)):
        pair = f"{number}, 16" if name == "batch" else f"6, {number}"
        (found,) = reports(f"{script.replace('6, 16', pair)}plan loss --fits {size}")
        assert (found.plain.budget.total <= fit.size) is fits
        assert found.plain.budget.total == (best.nbytes if fits else best.beyond)


def test_what_is_varied_stays_as_it_was() -> None:
    script = NET.format(optimizer="SGD(net.parameters(), lr=0.1)")
    _, first = reports(f"{script}plan loss --fits 1M --vary batch\nbackward loss")
    (second,) = reports(f"{script}backward loss")
    assert first == second


def test_bytes_that_grow_with_the_square_are_told_so() -> None:
    (fit,) = reports(ENCODER.format(layers=1) + "plan loss --fits 1M --vary seq")
    assert fit.plain.law.square > 0
    assert fit.plain.largest.measured
    assert fit.plain.largest.nbytes <= 1 << 20 < fit.plain.largest.beyond


def test_checkpointed_blocks_keep_their_inputs_and_compute_one_block_again() -> None:
    (fit,) = reports(ENCODER.format(layers=4) + "plan loss --fits 1M --vary batch")
    plain, kept = fit.plain.budget, fit.checkpointed.budget
    assert plain.blocks == 4
    assert kept.recomputed == plain.block > plain.saved // 5
    assert kept.saved == 4 * 2 * 8 * 8 * 4  # four inputs of 2 x 8 x 8 numbers
    assert fit.checkpointed.largest.number > fit.plain.largest.number
    assert dict(plain.by_module).keys() >= {"net.layers.*.self_attn", "net.layers.*.linear1"}


def test_a_net_is_found_inside_of_functions() -> None:
    text = "n = 3\ndef main():\n    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())\n    return net(randn(n, 4)).sum()\nloss = main()\n"
    (fit,) = reports(f"{text}plan loss --vary n")
    assert "Sequential.*" in dict(fit.plain.budget.by_module)
    assert fit.plain.largest is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("plan loss --fits 1M --vary bacth", "name: name 'bacth' is not defined"),
        ("plan loss --fits 1M --vary net", "value: plan --vary net: no statement at the top level assigns an integer to net"),
        ("plan loss --fits 1X", "value: plan --fits: a size is a number of bytes such as 500M or 2G, not '1X'"),
        ("for i in range(2):\n    plan loss --fits 1M", "value: plan --fits and --vary work at the top level only"),
        ("if batch > 6: raise ValueError('six')\nplan loss --vary batch", "value: the program fails when it is run again with batch = 12"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_reason(line: str, told: str) -> None:
    assert failure(NET.format(optimizer="SGD(net.parameters())") + line).startswith(told)


def test_nothing_fits_or_nothing_grows() -> None:
    script = NET.format(optimizer="SGD(net.parameters())")
    small, still = reports(f"{script}unused = 4\nplan loss --fits 500 --vary batch\nplan loss --fits 1M --vary unused")
    assert small.plain.largest.number == 0
    assert still.plain.largest is None
    assert not still.plain.law.grows


def test_a_number_that_does_not_run_gives_way_to_a_multiple() -> None:
    text = "n = 4\nw = randn(4, requires_grad=True)\nloss = (w * randn(n, 4).view(n // 4, 4, 4)).sum()\nplan loss --fits 10K --vary n"
    (fit,) = reports(text)
    best = fit.plain.largest
    assert best.number % 4 == 0
    assert best.measured
    assert "fails" in best.refused


def test_blocks_are_the_outermost_repeated_modules_with_parts() -> None:
    from gradsh import nn

    def block() -> nn.Module:
        return nn.TransformerEncoderLayer(4, 2, 8)

    def tree(module: nn.Module) -> dict:
        return dict(module.named_modules())

    assert blocks_of(tree(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))) == set()
    assert blocks_of(tree(nn.Sequential(block(), block(), nn.Linear(2, 2)))) == {"0", "1"}
    stages = nn.Sequential(nn.Sequential(block(), block()), nn.Sequential(block(), block()))
    assert blocks_of(tree(stages)) == {"0.0", "0.1", "1.0", "1.1"}


def test_a_law_is_the_parabola_of_its_points_and_its_largest_fits() -> None:
    draw = random.Random(0)
    for _ in range(200):
        constant, linear, square, unit = (draw.randrange(most) for most in (50, 50, 9, 20))

        def at(number: int, parts: tuple[int, ...] = (constant, linear, square)) -> int:
            return parts[0] + parts[1] * number + parts[2] * number * number

        law = law_of([(number, at(number)) for number in (unit + 1, 2 * unit + 2, 3 * unit + 3)])
        assert (law.constant, law.linear, law.square) == (constant, linear, square)
        size = draw.randrange(10**6)
        if law.grows:
            best = search(lambda number, size=size, law=law: law.at(number) <= size)
            assert best == 0 or at(best) <= size < at(best + 1)
