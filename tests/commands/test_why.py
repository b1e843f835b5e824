"""`why` tells the whole story, and its ways out work when they are followed."""

import pytest

from gradsh.contracts.events import Failure, Result
from gradsh.session.session import Session
from gradsh.text.fix import applied as applied_to


def applied(text, way):
    """A script after the edits of a way out."""
    return "\n".join(applied_to(text.split("\n"), way.edits)[0])


def told(text, command="why"):
    """The report of a command at the end of a script that may fail, and the failures on the way."""
    events = []
    session = Session()
    session.run(text, events.append, name="script", keep_going=True)
    failures = [event for event in events if isinstance(event, Failure)]
    events.clear()
    session.run(command, events.append)
    return next(event.report for event in events if isinstance(event, Result)), failures


SCRIPTS = {
    "twice": "x = ones(2, requires_grad=True)\nz = (x * x).sum()\nz.backward()\nz.backward()\n",
    "twice by command": "x = ones(2, requires_grad=True)\nz = (x * x).sum()\nbackward z\nbackward z\n",
    "two heads": "x = ones(2, requires_grad=True)\nh = x.exp()\na = h.sin().sum()\nb = h.cos().sum()\na.backward()\nb.backward()\n",
    "discriminator and generator": "G = nn.Linear(2, 2)\nD = nn.Linear(2, 1)\nfake = G(ones(3, 2))\nreal = D(ones(3, 2)).mean()\n"
                                   "d_loss = D(fake).mean() - real\nd_loss.backward()\ng_loss = -D(fake).mean()\ng_loss.backward()\n",
    "two trunks": "x = ones(2, requires_grad=True)\nh = x.exp()\nk = x.sin()\na = (h * k).sum()\nb = (h - k * h).sum()\n"
                  "a.backward()\nb.backward()\n",
    "two heads in a function": "x = ones(2, requires_grad=True)\ndef step():\n    h = x.exp()\n    a = h.sin().sum()\n"
                               "    b = h.cos().sum()\n    a.backward()\n    b.backward()\nstep()\n",
    "outside of the loop": "x = ones(2, requires_grad=True)\nz = (x * x).sum()\nfor i in range(3):\n    z.backward()\n",
    "carried": "w = ones(2, requires_grad=True)\nh = zeros(2)\nfor i in range(3):\n    h = (h * w + 1).tanh()\n    h.sum().backward()\n",
    "carried over windows": "w = ones(2, requires_grad=True)\nh = zeros(2)\nfor i in range(3):\n    for k in range(2):\n"
                            "        h = (h * w + 1).tanh()\n    h.sum().backward()\n",
    "modified": "x = ones(2, requires_grad=True)\ny = x.exp()\nz = (y * y).sum()\ny += 1\nz.backward()\n",
    "modified by a method": "x = ones(2, requires_grad=True)\ny = x.exp()\nz = (y * y).sum()\ny.mul_(x + 1)\nz.backward()\n",
    "modified by index": "x = ones(2, requires_grad=True)\ny = x.exp()\nz = (y * y).sum()\ny[0] = 1\nz.backward()\n",
    "detached": "x = ones(2, requires_grad=True)\ny = (x * 2).detach()\ny.sum().backward()\n",
    "not a leaf": "x = ones(2)\ny = (x * 2).sum()\ny.backward()\n",
    "not a scalar": "x = ones(2, requires_grad=True)\ny = x * 2\ny.backward()\n",
    "update": "w = ones(2, requires_grad=True)\nw -= 0.1\n",
    "modified by filling": "x = ones(2, requires_grad=True)\ny = x.exp()\nz = (y * y).sum()\ny.zero_()  # a comment\nz.backward()\n",
    "modified with a comment": "x = ones(2, requires_grad=True)\ny = x.exp()\nz = (y * y).sum()\ny += 1  # a comment\nz.backward()\n",
    "view of several": "x = ones(6, requires_grad=True)\na, b = (x * 1).chunk(2)\na.mul_(2)\n",
    "view of several, stored": "x = ones(6, requires_grad=True)\na, b = (x * 1).chunk(2)\na[0] = 2\n",
    "view made silently": "x = ones(6, requires_grad=True)\ny = x * 1\nwith torch.no_grad():\n    w = y[1]\nw *= 2\n",
    "view of a leaf": "x = ones(6, requires_grad=True)\nv = x[0]\nv.mul_(2)\n",
    "stored in a leaf": "x = ones(6, requires_grad=True)\nx[0] = 2\n",
    "gradient of another shape": "x = ones(6, requires_grad=True)\ny = x * 2\ny.backward(torch.ones(3))\n",
    "gradient of another shape, by command": "x = ones(6, requires_grad=True)\ny = x * 2\nbackward y --grad ones(3)\n",
    "frozen too late": "x = ones(2, requires_grad=True)\ny = x * 2\ny.requires_grad_(False)\n",
    "frozen too late, by attribute": "x = ones(2, requires_grad=True)\ny = x * 2\ny.requires_grad = False\n",
    "copied deeply": "import copy\nx = ones(2, requires_grad=True)\ny = x * 2\nz = copy.deepcopy(y)\n",
    "scaled parameter": "w = torch.randn(2, requires_grad=True) * 0.1\nopt = torch.optim.SGD([w], lr=0.1)\n",
    "made silently": "x = ones(2, requires_grad=True)\nwith torch.no_grad():\n    q = (x * 2).sum()\nq.backward()\n",
    "made silently among others": "x = ones(2, requires_grad=True)\nwith torch.no_grad():\n    q = x.sum()\n    r = 1\nq.backward()\n",
    "copied numbers": "x = ones(2, requires_grad=True)\nt = torch.tensor([x[0], x[1]])\nt.sum().backward()\n",
    "position": "x = ones(2, requires_grad=True)\nm = x.argmax()\nm.backward()\n",
    "whole numbers": "x = torch.tensor([1, 2])\n(x * 2).sum().backward()\n",
    "gradient without a history": "x = ones(2, requires_grad=True)\ny = (x ** 3).sum()\ng = torch.autograd.grad(y, x)[0]\n"
                                  "g.sum().backward()\n",
    "frozen net": "net = nn.Linear(2, 2)\nfor p in net.parameters():\n    p.requires_grad = False\n"
                  "l = net(ones(1, 2)).sum()\nl.backward()\n",
    "expected": "x = ones(2, requires_grad=True)\ny = x * 2\nexpect error: y.backward()\n",
    "gradient of a gradient": "x = ones(2, requires_grad=True)\ny = x.exp().sum()\ntorch.autograd.grad(y, x)\ntorch.autograd.grad(y, x)\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_ways_out_work(name):
    text = SCRIPTS[name]
    story, failures = told(text)
    assert failures or name == "expected"
    ways = [way for way in story.ways if way.edits]
    assert ways, story
    for way in ways:
        changed = applied(text, way)
        assert changed != text
        events = []
        Session().run(changed, events.append, keep_going=True)
        failed = [event.problem.message for event in events if isinstance(event, Failure)]
        assert not failed, (way.words, changed)


def test_recomputing_and_detaching_give_the_expected_gradients():
    text = SCRIPTS["outside of the loop"]
    story, _ = told(text)
    moved = next(way for way in story.ways if "again in each iteration" in way.words)
    session = Session()
    session.run(applied(text, moved), lambda _: None)
    assert session.machine.program["x"].grad.tolist() == [6.0, 6.0]


def test_the_shared_trunk_is_what_to_pin():
    story, _ = told(SCRIPTS["two heads"])
    assert "`retain_graph=True`" in story.ways[0].words
    assert "`retain h`" in story.ways[-1].words


def test_the_discriminators_step_is_cut_off_the_generator() -> None:
    """The usual mistake of a first GAN, and what its tutorials write; a method of what is shared is another matter."""
    text = SCRIPTS["discriminator and generator"]
    way = next(way for way in told(text)[0].ways if "fake.detach()" in way.words)
    assert "D(fake.detach()).mean() - real" in applied(text, way)
    assert "-D(fake).mean()" in applied(text, way)
    assert not any("detach" in way.words for way in told(SCRIPTS["two heads"])[0].ways)


def test_all_that_two_results_share_is_pinned():
    assert "`retain h k`" in told(SCRIPTS["two trunks"])[0].ways[-1].words
    assert "`retain h`" in told(SCRIPTS["two heads in a function"])[0].ways[-1].words


def test_nothing_is_to_be_pinned_where_no_variable_holds_what_is_shared():
    text = "x = ones(2, requires_grad=True)\na, b = (lambda h: (h.sin().sum(), h.cos().sum()))(x.exp())\na.backward()\nb.backward()\n"
    story, failures = told(text)
    assert not any("what both share" in way.words for way in story.ways)
    assert "retain_graph=True" in failures[0].problem.help[0]


def test_the_error_itself_shows_the_first_of_the_same_list():
    story, failures = told(SCRIPTS["two heads"])
    assert [way.words for way in story.ways] == [fix.words for fix in failures[0].problem.fixes if fix.edits]
    assert failures[0].problem.help == tuple(fix.line() for fix in failures[0].problem.fixes[:3])


def test_the_shared_trunk_is_found_where_a_function_computed_it():
    text = ("x = ones(2, requires_grad=True)\ndef trunk(v):\n    w = v.exp()\n    return w * 2\nh = trunk(x)\n"
            "a = h.sin().sum()\nb = h.cos().sum()\na.backward()\nb.backward()\n")
    story, _ = told(text)
    assert "`retain h`" in story.ways[-1].words
    events = []
    session = Session()
    session.run(applied(text, story.ways[-1]), events.append)
    assert not [event for event in events if isinstance(event, Failure)]
    retained = Session()
    retained.run(text.replace("a.backward()", "a.backward(retain_graph=True)"), lambda _: None)
    assert session.machine.program["x"].grad.tolist() == retained.machine.program["x"].grad.tolist()


def test_a_module_is_not_told_to_take_requires_grad():
    story, _ = told(SCRIPTS["frozen net"])
    assert not any("Linear(2, 2, requires_grad" in way.words for way in story.ways)


def test_story_is_in_order():
    story, _ = told(SCRIPTS["two heads"])
    assert [(event.role, event.line) for event in story.events] == [("saved", 2), ("freed", 5), ("needed", 6)]


def test_nothing_failed():
    assert told("x = 1")[0].events == ()


@pytest.mark.parametrize(("text", "subject", "cause"), [
    ("x = ones(2)", "x", "no_need"),
    ("x = ones(2, requires_grad=True)", "x", "not_reached"),
    ("x = ones(2, requires_grad=True)\ny = x * 2", "y", "not_leaf"),
    ("x = ones(2, requires_grad=True)\ny = x * 2", "x", "reachable"),
    ("x = ones(2, requires_grad=True)\n(x * 2).sum().backward()\nx.grad = None", "x", "cleared"),
])
def test_why_there_is_no_gradient(text, subject, cause):
    report, _ = told(text, f"why {subject}")
    assert report.gradient.state == "none"
    assert report.gradient.cause == cause


@pytest.mark.parametrize(("expression", "node"), [
    ("(x - 5).relu()", "ReluBackward0"), ("(x * 100).tanh()", "TanhBackward0"), ("x * zeros(2)", "MulBackward0"),
    ("(x * 200).sigmoid()", "SigmoidBackward0"), ("torch.round(x)", "RoundBackward0"), ("x.floor() * 3", "FloorBackward0"),
    ("torch.normal(x, ones(2))", "NormalBackward3"),
])
def test_why_a_gradient_is_zero(expression, node):
    report, _ = told(f"x = ones(2, requires_grad=True)\ny = {expression}\ny.sum().backward(retain_graph=True)", "why x")
    assert report.gradient.state == "zero"
    assert [block.node for block in report.gradient.blocks] == [node]
    assert report.gradient.blocks[0].line == 2


def test_why_a_tensor_needs_no_gradient_names_the_line():
    report, _ = told("x = ones(2, requires_grad=True)\ny = x * 2\nc = y.detach() * 3", "why c")
    assert [(cut.line, cut.cut) for cut in report.cuts] == [(3, True)]


def test_parameters_without_a_gradient():
    report, _ = told(
        "net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))\nnet[0].bias.requires_grad_(False)\nnet[1](ones(1, 2)).sum().backward()",
        "why net",
    )
    assert [(one.name, one.gradient.state, one.gradient.cause) for one in report] == [
        ("0.weight", "none", "not_reached"), ("0.bias", "none", "no_need"), ("1.weight", "some", ""), ("1.bias", "some", ""),
    ]


def test_a_frozen_module_is_named_with_the_way_to_let_it_learn():
    text = "net = nn.Linear(2, 1)\nfor p in net.parameters():\n    p.requires_grad = False\n\nnet(ones(1, 2)).sum().backward()\n"
    story, _ = told(text)
    assert "do not freeze it if it is to be trained: `requires_grad = True` on line 3" in story.help[0]


def test_a_gradient_without_history_is_to_be_asked_for_with_one():
    text = "x = ones(2, requires_grad=True)\ng, = torch.autograd.grad(x.exp().sum(), x)\ng.sum().backward()\n"
    story, _ = told(text)
    assert "`create_graph=True` on line 2" in story.help[0]
