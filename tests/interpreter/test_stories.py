"""What a failure says: its kind, the lines of its story, exact spans, and ways out that work when they are followed."""

import pytest

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def problem(script, text: str):
    script.run(HEAD + text)
    return script.failure.problem


def test_the_session_of_the_readme(script):
    found = problem(
        script,
        "x = torch.ones(2, 3, requires_grad=True)\ny = x.mean(dim=1).squeeze() + 3\nz = y.pow(2).mean()\n"
        "z.backward()\nz.backward()\n",
    )
    assert found.kind == "freed"
    assert found.title == "backward needs PowBackward0.self, which an earlier backward freed"
    assert "backward through the graph a second time" in found.message
    assert (script.lines("saved"), script.lines("freed"), script.lines("needed")) == ([6], [7], [8])
    assert script.marked("saved") == ["y.pow(2)"]
    assert script.marked("needed") == ["z.backward()"]
    assert any("self, (2,), 8 B" in label.text for label in found.labels)
    assert "retain_graph=True" in found.help[0]
    assert "line 7" in found.help[0]


def test_freed_in_a_loop_says_which_pass(script):
    found = problem(
        script,
        "w = torch.ones(2, requires_grad=True)\nout = (w * w).sum()\nfor t in range(3):\n    out.backward()\n",
    )
    texts = [label.text for label in found.labels if label.role in {"freed", "needed"}]
    assert texts == ["freed here (iteration 1 of the loop)", "needed again here (iteration 2 of the loop)"]
    assert "compute it again in each iteration: line 5 before line 7" in found.help[0]
    assert (script.failure.line, script.failure.top) == (7, 6)


def test_freed_by_what_a_loop_carries(script):
    found = problem(
        script,
        "h, w = torch.zeros(2), torch.ones(2, requires_grad=True)\nfor t in range(3):\n    h = torch.tanh(h * w)\n"
        "    h.sum().backward()\n",
    )
    assert "detach" in found.help[0]
    assert script.lines("saved") == [6]


def test_freed_through_functions_names_the_calls(script):
    problem(
        script,
        "x = torch.ones(2, requires_grad=True)\ndef make(w):\n    return (w * w).sum()\ndef run(l):\n    l.backward()\n"
        "l = make(x)\nrun(l)\nrun(l)\n",
    )
    assert (script.lines("saved"), script.lines("freed"), script.lines("called")) == ([6], [8], [11])
    assert "called from line 10" in next(label.text for label in script.failure.problem.labels if label.role == "freed")


def test_version_names_every_write(script):
    found = problem(
        script,
        "x = torch.ones(2, requires_grad=True)\ny = x * 2\nz = y.exp() + y * y\ny.add_(1)\nwith torch.no_grad():\n    y[0] = 3\n"
        "z.sum().backward()\n",
    )
    assert found.kind == "version"
    assert script.lines("modified") == [7, 9]
    assert (script.lines("saved"), script.lines("needed")) == ([6], [10])


def test_what_is_looked_at_after_a_pass_is_not_needed_by_one(script):
    found = problem(script, "x = torch.ones(2, requires_grad=True)\ny = x.exp()\ny.sum().backward()\ny.grad_fn._saved_result\n")
    assert found.title == "an earlier backward freed ExpBackward0.result, which is read here"
    assert (script.lines("saved"), script.lines("freed"), script.lines("needed")) == ([5], [6], [7])


def test_writes_of_a_loop_are_one_mark(script):
    problem(
        script,
        "x = torch.ones(2, requires_grad=True)\ny = x * 2\nz = y * y\nfor i in range(3):\n    y.add_(1)\nz.sum().backward()\n",
    )
    assert script.lines("modified") == [8]
    assert "version 1 (iteration 1 of the loop) to 3" in next(
        label.text for label in script.failure.problem.labels if label.role == "modified"
    )


@pytest.mark.parametrize(("text", "built", "help_word"), [
    ("x = torch.ones(2)\ny = x * 2\ny.sum().backward()", [4], "requires_grad=True"),
    ("x = torch.ones(2, requires_grad=True)\ny = x.detach() * 2\ny.sum().backward()", [5], "detach"),
    ("x = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    y = x * 2\nz = y + 1\nz.sum().backward()", [6], "`with` of line 5"),
    ("net = nn.Linear(2, 1)\nfor p in net.parameters():\n    p.requires_grad = False\nout = net(torch.ones(2))\nout.backward()", [6, 4],
     "requires_grad"),
    ("x = torch.ones(1, requires_grad=True)\ng, = torch.autograd.grad(x * 2, x, create_graph=True)\ntorch.autograd.grad(g, x)", [5],
     "the gradient of line 5 is constant"),
])
def test_no_grad_says_where_the_history_ends(script, text, built, help_word):
    found = problem(script, text)
    assert found.kind == "no_grad"
    assert script.lines("built") == built
    assert help_word in " ".join(found.help)


@pytest.mark.parametrize(("text", "kind", "built"), [
    ("y = torch.ones(2, requires_grad=True) * 2\ny.backward()", "scalar", [4]),
    ("w = torch.ones(2, requires_grad=True)\nv = w\nv += 1", "leaf_inplace", [4]),
    ("w = torch.ones(4, requires_grad=True)\na, b = (w * 2).chunk(2)\na.mul_(2)", "view_inplace", [5]),
    ("w = torch.ones(2, requires_grad=True)\nz = w * 2\nz.requires_grad = False", "not_leaf", [5]),
    ("w = torch.ones(2, requires_grad=True)\nv = torch.ones(2, requires_grad=True)\ntorch.autograd.grad((w * 2).sum(), v)",
     "unused", [5]),
])
def test_what_was_built_is_shown(script, text, kind, built):
    found = problem(script, text)
    assert found.kind == kind
    assert script.lines("built") == built
    assert found.help


def test_shapes_underline_both_operands(script):
    found = problem(script, "a, b = torch.ones(2, 3), torch.ones(4)\nprint(1); c = a.sum() + (a * 2 + b)\n")
    assert found.kind == "shape"
    assert script.marked("operand") == ["a * 2", "b"]
    assert script.marked("needed") == ["a * 2 + b"]
    assert [label.text for label in found.labels if label.role == "operand"] == ["shape (2, 3)", "shape (4,)"]


@pytest.mark.parametrize(("text", "offered"), [
    ("torch.relu6", "torch.nn.functional.relu6"), ("F.tnah", "tanh"), ("nn.linear", "torch.nn.functional.linear"),
    ("torch.ones(2).sumn()", "`sum`"), ("lenght = 3\nlength", "`lenght`"), ("Liner(2, 2)", "`Linear`"),
    ("'a'.uper()", "`upper`"), ("import maths", ""), ("from torch import ons", "`torch.ones`"), ("torch.Ones(2)", "ones"),
    ("class A:\n    def __init__(self): self.weight = 1\nA().wieght", "`weight`"),
    ("torch.ones(2).backward(retain_variables=True)", "`retain_graph`"), ("d = {'a': 1}\nd['b']", ""),
])
def test_the_nearest_names_are_offered(script, text, offered):
    script.run(HEAD + text)
    if offered:
        assert offered in " ".join(script.failure.problem.help)


@pytest.mark.parametrize("text", ["explain('freed')", "memory()", "graph(3)"])
def test_a_command_that_is_called_says_how_it_is_written(script, text):
    name = text.partition("(")[0]
    script.machine.grammars = {name: None}
    found = problem(script, text)
    said = f"`{name}` is a command: its arguments stand behind a blank, without parentheses (`help {name}`)"
    assert said in [fix.words for fix in found.fixes]


def test_a_deleted_name_says_where_it_went(script):
    problem(script, "t = torch.ones(2)\ndel t\nprint(t)\n")
    assert script.lines("defined") == [5]


def test_wrong_arguments_show_the_definition(script):
    found = problem(script, "def f(a, b): return a\nf(1)\n")
    assert script.marked("defined") == ["def f(a, b): return a"]
    assert any("(a, b)" in note for note in found.notes)


@pytest.mark.parametrize(("text", "kind"), [
    ("1 / 0", "arithmetic"), ("assert 1 == 2, 'no'", "assert"), ("{}['a']", "key"), ("[][1]", "index"), ("int('x')", "value"),
    ("raise RuntimeError('x')", "other"), ("raise ValueError", "value"), ("1 + 'a'", "type"), ("nope", "name"),
    ("(1).nope", "attribute"), ("10 ** 10 ** 10", "limit"), ("'a' * 10 ** 11", "limit"), ("1 << 10 ** 10", "limit"),
    ("def f(): return f()\nf()", "limit"), ("class A:\n    def __repr__(self): return repr(self)\nA()", "limit"),
    ("raise MemoryError", "limit"), ("raise KeyboardInterrupt", "other"), ("raise StopIteration", "other"),
    ("class A: __new__ = 1", "syntax"), ("raise 3", "type"), ("2.0 ** 10000", "arithmetic"),
    ("if torch.ones(2): pass", "value"), ("torch.ones(2).sum(5)", "index"), ("open('x')", "io"),
    ("import sklearn.metrics as m\nm.f1([1])", "name"), ("torch.tensor([1], requires_grad=True)", "dtype"),
    ("x = torch.ones(2, requires_grad=True)\nx.sum().backward(torch.ones(3))", "grad_shape"),
])
def test_kinds(script, text, kind):
    found = problem(script, text)
    assert found.kind == kind
    assert found.message
    assert script.lines("needed")


def test_a_failed_pass_says_what_it_had_done(script):
    found = problem(
        script,
        "x = torch.ones(2, requires_grad=True)\nw = torch.ones(2, requires_grad=True)\na = x.exp()\n(a * 3).sum().backward()\n"
        "((a * w) + w).sum().backward()\n",
    )
    assert "wrote" in found.notes[0]
    assert "w.grad" in found.notes[0]


def test_columns_count_characters(script):
    problem(script, "wörd = '日本'; wörd.nope\n")
    assert script.marked("needed") == ["wörd.nope"]


def test_lines_go_on_from_one_input_to_the_next(script):
    script.run("def f(x):\n    return x + y_not_there\n", first_line=1)
    script.run("f(1)\n", first_line=3)
    assert script.lines("called") == [3]
    assert script.lines("needed") == [2]
    assert script.failure.line == 2
    assert script.failure.top == 3


@pytest.mark.parametrize("text", [
    "class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "class E(Exception):\n    fault = 3\nraise E",
    "class E(KeyError):\n    def __repr__(self): return self.nope\n    __str__ = __repr__\nraise E",
    "class K:\n    def __repr__(self): return 1 / 0\n    def __hash__(self): return 1\n{}[K()]",
    "class E(Exception):\n    def __str__(self): return str(self)\nraise E()",
])
def test_an_exception_that_fails_to_tell_is_told(script, text):
    script.run(text)
    assert script.failure.problem.message
    assert script.lines("needed")


def imports():
    from gradsh.diagnosis.explain_other import IMPORTS

    return sorted(IMPORTS.items())


@pytest.mark.parametrize(("name", "way"), imports())
def test_a_name_whose_import_is_missing_says_how_to_import_it(script, name, way):
    text = f"print({name})\n"
    script.run(text)
    assert script.failure.problem.help == (f"import it first: `{way}`",)


def test_a_class_named_in_its_own_body_is_to_be_written_as_text(script):
    script.run("class Node:\n    def add(self, other: Node):\n        pass\n")
    assert script.failure.problem.help == ('a class has its name once its body has run: write the annotation as text, `"Node"`',)
    assert [(one.span.end_line, one.text) for one in script.failure.problem.labels] == [(1, "runs the body of Node"), (2, "not bound here")]


@pytest.mark.parametrize(("name", "way"), imports())
def test_what_is_said_to_be_imported_can_be(script, name, way):
    script.run(f"{way}\n{name}\n")
    assert script.failures == []


def test_a_wrong_call_points_at_its_own_definition_only(script):
    text = (
        "class Loss:\n    def backward(self, retain=True):\n        return 1\n"
        "torch.ones(2, requires_grad=True).sum().backward(retain_variables=True)\n"
    )
    found = problem(script, text)
    assert script.lines("defined") == []
    assert {fix.words for fix in found.fixes} == {"did you mean `retain_graph`?"}


def test_a_wrong_call_of_a_method_points_at_it(script):
    problem(script, "def backward():\n    return 1\nclass Loss:\n    def backward(self):\n        return 1\nLoss().backward(retain=True)\n")
    assert script.lines("defined") == [7]


def test_a_tensor_that_an_optimizer_has_written_is_to_be_used_before_the_step(script):
    found = problem(
        script,
        "w = torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([w], lr=1.)\nloss = (w * w).sum()\n"
        "loss.backward(retain_graph=True)\nopt.step()\nloss.backward()\n",
    )
    assert found.kind == "version"
    assert [fix.words for fix in found.fixes[:2]] == [
        "compute it again: repeat line 6 before line 9", "run the backward first: move line 9 before line 8",
    ]


def test_windows_are_cut_where_they_end(script):
    found = problem(
        script,
        "w = torch.ones(2, requires_grad=True)\nh = torch.zeros(2)\nfor i in range(2):\n    for t in range(3):\n"
        "        h = (h * w + 1).tanh()\n    h.sum().backward()\n",
    )
    assert found.fixes[0].words == "detach it after each backward: `h = h.detach()` after line 9"


def test_a_failed_pass_names_parameters_by_their_place(script):
    found = problem(
        script,
        "net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))\nfor p in net.parameters():\n    pass\n\n"
        "h = net[:2](torch.ones(1, 2))\nnet[2](h).sum().backward()\nnet[2](h).sum().backward()\n",
    )
    assert any("net[2].bias.grad" in note for note in found.notes)
    assert not any("p.grad" in note for note in found.notes)


def test_nested_loops_say_the_pass_of_each(script):
    found = problem(
        script,
        "x = torch.ones(3, requires_grad=True)\nh = x.exp()\nfor epoch in range(3):\n    for b in range(epoch):\n"
        "        (h * b).sum().backward()\n",
    )
    assert [label.text for label in found.labels if label.role == "needed"] == [
        "needed again here (iteration 1 of the inner loop, 3 of the outer)"
    ]
    assert [label.text for label in found.labels if label.role == "freed"] == [
        "freed here (iteration 1 of the inner loop, 2 of the outer)"
    ]


def test_anomaly_names_the_first_nan(script):
    found = problem(
        script,
        "torch.autograd.set_detect_anomaly(True)\na = torch.tensor([[1.0, 4.0], [0.0, 0.0]], requires_grad=True)\n"
        "b = a * 1\nc = (b / b).sum()\nc.backward()\n",
    )
    assert "Function 'DivBackward0' returned nan values in its" in found.message
    assert script.lines("built") == [7]
    assert found.notes[0] == "the first nan is element [1, 0] of the gradient for input 1 of DivBackward0"


def test_a_checkpoint_that_recomputes_otherwise(script):
    found = problem(
        script,
        "from torch.utils.checkpoint import checkpoint\nx = torch.ones(4, 3, requires_grad=True)\ncalls = []\n"
        "def part(x):\n    calls.append(1)\n    h = x if len(calls) == 1 else x[:2]\n"
        "    for _ in range(8):\n        h = (h * h).exp()\n    return h.sum()\n"
        "checkpoint(part, x, use_reentrant=False).backward()\n",
    )
    assert "different metadata than during the forward pass" in found.title
    assert "was (4, 3) float32; the recomputed one is (2, 3) float32" in found.notes[0]
    assert "more differ" in found.notes[2]
    assert 2 + len(found.labels) + len(found.notes) + len(found.help) < 10


def test_a_checkpoint_that_recomputes_less(script):
    found = problem(
        script,
        "from torch.utils.checkpoint import checkpoint\nx = torch.ones(3, requires_grad=True)\ncalls = []\n"
        "def part(x):\n    calls.append(1)\n    return (x * x).exp().sum() if len(calls) == 1 else (x * x).sum()\n"
        "checkpoint(part, x, use_reentrant=False).backward()\n",
    )
    assert found.notes[0] == "the forward saved 3 tensors, the recomputation saved 2"
