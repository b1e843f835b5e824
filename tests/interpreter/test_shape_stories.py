"""A shape error underlines its operands apart, each with its own shape, and never one with the shape of another."""

import pytest

OPERANDS = [
    ("x = torch.ones(2, 3)\ny = torch.ones(2, 4)\nx += y", {"x": "(2, 3)", "y": "(2, 4)"}),
    ("a = torch.ones(2, 3)\ntorch.cat([a, a, torch.ones(3, 4)])", {"a": "(2, 3)", "torch.ones(3, 4)": "(3, 4)"}),
    ("torch.ones(6).view(4, 2)", {"torch.ones(6)": "(6,)"}),
    ("n = 4\nx = torch.ones(2, 3)\nx.reshape(n, -1)", {"x": "(2, 3)"}),
    ("l = torch.nn.Linear(3, 4)\nx = torch.ones(2, 5)\nl(x)", {"x": "(2, 5)"}),
    ("net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(5, 1))\nnet(torch.ones(2, 3))", {}),
    ("torch.where(torch.ones(2) > 0, torch.ones(3), torch.ones(4))", {}),
    ("x = torch.ones(2, 3)\nx.T @ x.T", {"x.T": "(3, 2)"}),
    ("x = torch.ones(2, 3)\nx.expand(4, 3)", {"x": "(2, 3)"}),
]


@pytest.mark.parametrize(("text", "operands"), OPERANDS, ids=[text.rpartition("\n")[2] for text, _ in OPERANDS])
def test_operands_are_marked_with_their_shapes(script, text, operands):
    script.run(text)
    labels = [label for label in script.failure.problem.labels if label.role == "operand"]
    line = text.count("\n") + 1
    assert {(label.span.line, label.text) for label in labels} == {(line, f"shape {shape}") for shape in operands.values()}
    assert set(script.marked("operand")) == set(operands)


def test_the_layer_that_failed_is_named(script):
    script.run("net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(5, 1))\nnet(torch.ones(2, 3))")
    assert script.failure.problem.notes[0] == "layer `2` of net is Linear(in_features=5, out_features=1, bias=True)"


REFUSED = [
    ("torch.fx.symbolic_trace(1)", "remove it: call the function or the module itself"),
    ("import torch.distributed as dist\ndist.init_process_group()", "one process on the CPU"),
    ("import numpy as np\nnp.fromfoo('x')", "gradsh's `numpy` offers array"),
    ("import numpy as np\nnp.fromfile('x')", "gradsh trace FILE"),
    ("torch.ones(2).sumn()", "did you mean `sum`?"),
    ("m = torch.nn.Linear(1, 1)\nm.wieght", "did you mean `weight`?"),
    ("exec('1')", "write the statements themselves"),
    ("torch.nn.Linear(1, 1).to(torch.float8_e5m2)", "compute in float32"),
    ("torch.ones(1).to(torch.complex64)", "gradsh trace FILE"),
    ("torch.sparse_coo_tensor(1)", "gradsh check FILE"),
    ("torch.vmap(torch.poisson, randomness='different')(torch.ones(2))", "draw the random numbers before"),
    ("import gymnasium\ngymnasium.make('x')", "write the environment as a class"),
    ("resnet18()", "torchvision has it"),
]


@pytest.mark.parametrize(("text", "way"), REFUSED, ids=[text.rpartition("\n")[2] for text, _ in REFUSED])
def test_what_is_not_here_names_the_way(script, text, way):
    script.run(text)
    assert any(way in line for line in script.failure.problem.help)
    assert way not in script.failure.problem.message


def test_a_misspelt_keyword_of_an_operation_is_told(script):
    script.run("torch.randn(2, 3, requires_gard=True)")
    assert script.failure.problem.help == ("did you mean `requires_grad`?",)
    assert any(note.startswith("its signature is (tuple of ints size, *,") for note in script.failure.problem.notes)


def test_volatile_answers_as_today(script):
    script.run("v = torch.autograd.Variable(torch.ones(1), volatile=True)\nprint(v.volatile)\nv.volatile = True")
    assert script.output == "False\n"
    removed = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
    assert script.warnings == [removed, "volatile was removed (Variable.volatile is always False)", removed]
