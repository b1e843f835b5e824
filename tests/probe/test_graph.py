"""Drawings of graphs: everything at small size, folded at large size, filtered, before and after a backward."""

import pytest

from gradsh.contracts.events import Print, Result
from gradsh.render.style import Style
from gradsh.render.text import event_text
from tests.probe.asking import Asked

LOOP = """
w = ones(3, requires_grad=True)
def step(a):
    b = a * w
    return b.tanh()

h = w * 2
for i in range(30):
    h = step(h)

z = h.sum()
"""


def test_small_graph_is_drawn_whole():
    report = Asked("x = ones(2, requires_grad=True)\nz = (x * x).sum()").report("graph z")
    assert [node.name for node in report.nodes] == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert report.edges == ((0, 1, 0), (1, 2, 0), (1, 2, 0))
    assert report.total == 3
    assert not report.folded


def test_calls_in_a_loop_are_folded():
    asked = Asked(LOOP)
    report = asked.report("graph z")
    folded = next(node for node in report.nodes if node.members > 1)
    assert (folded.name, folded.times, folded.members, folded.line, folded.last_line) == ("step()", 30, 60, 4, 5)
    assert sum(node.members for node in report.nodes) == report.total == 63
    assert "30 × step()" in asked.shown("graph z")
    assert "line 4–5" in asked.shown("graph z")
    assert len(asked.report("graph z --expand").nodes) == report.total


def test_folded_graph_is_acyclic_and_connected():
    report = Asked(LOOP + "y = step(h) + step(z)\nq = (y * h).sum()\n").report("graph q")
    reached = {0}
    for a, b, _ in sorted(report.edges):
        reached |= {b} if a in reached else set()
    order = {}
    waiting = [list({b for a, b, _ in report.edges if a == i}) for i in range(len(report.nodes))]
    while len(order) < len(report.nodes):
        free = [i for i in range(len(report.nodes)) if i not in order and all(b in order for b in waiting[i])]
        assert free, "a cycle"
        order.update(dict.fromkeys(free))
    assert len(reached) == len(report.nodes)


def test_state_after_backward_names_the_line():
    report = Asked(LOOP + "backward z").report("graph z")
    folded = next(node for node in report.nodes if node.members > 1)
    assert [(mark.state, mark.count, mark.freed_line) for mark in folded.saved] == [("freed", 90, 12)]


def test_half_freed():
    asked = Asked("x = ones(2, requires_grad=True)\nh = x.exp()\na = h.sin().sum()\nb = h.cos().sum()\nbackward a")
    states = {node.name: [mark.state for mark in node.saved] for node in asked.report("graph b a").nodes if node.saved}
    assert states == {"CosBackward0": ["live"], "ExpBackward0": ["freed"], "SinBackward0": ["freed"]}


def test_filters():
    asked = Asked(LOOP)
    assert {node.name for node in asked.report("graph z --name tanh").nodes} == {"TanhBackward0"}
    assert len(asked.report("graph z --name tanh").edges) == 29
    assert asked.report("graph z --state freed").nodes == ()
    assert "no node matches" in asked.shown("graph z --state freed")
    ways = Asked("x = ones(2, requires_grad=True)\ny = ones(2, requires_grad=True)\nz = (x.exp() * y.sin()).sum()").report("graph z --to y")
    assert [node.name for node in ways.nodes] == ["SumBackward0", "MulBackward0", "SinBackward0", "AccumulateGrad"]


def test_depth_says_what_is_hidden():
    asked = Asked(LOOP)
    report = asked.report("graph z --depth 1 --expand")
    assert len(report.nodes) == 2
    assert report.cuts == ((1, 0, report.total - 2),)
    assert "61 more nodes below" in asked.shown("graph z --depth 1 --expand")


def test_five_hundred_nodes_fit_on_a_screen():
    asked = Asked(
        "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(4, 4)\n        self.b = nn.Linear(4, 4)\n"
        "    def forward(self, x):\n        return x + self.b(self.a(x).relu()).tanh()\n\n"
        "net = nn.Sequential(*[Block() for i in range(40)])\nloss = net(ones(2, 4)).pow(2).mean()"
    )
    report = asked.report("graph loss")
    assert report.total > 300
    assert len(asked.shown("graph loss").split("\n")) < 40


def test_walk_shows_gradients_and_fates():
    report = Asked("x = ones(2, requires_grad=True)\nz = (x * 3).exp().sum()").report("backward z --step")
    assert [step.node for step in report.steps] == ["SumBackward0", "ExpBackward0", "MulBackward0"]
    assert report.steps[1].buffers == (("result", 8, "freed"),)
    assert report.steps[2].sent[0].to == "x.grad"
    assert report.steps[2].wrote == ("x.grad written",)
    assert report.account.ran == 4


def walked(*answers: str | None) -> tuple[Asked, list[str], list[str]]:
    """Step through a pass with these answers; return the session, the lines shown and what was not needed of the answers."""
    asked = Asked("x = ones(2, requires_grad=True)\nz = (x * 3).exp().sum()")
    left = list(answers)
    asked.session.asker = lambda _prompt: left.pop(0)
    asked.run("backward z --step")
    results = [event_text(event, Style()) for event in asked.events if isinstance(event, Print | Result)]
    return asked, "".join(shown[1] for shown in results if shown is not None).splitlines(), left


def steps_in(lines: list[str]) -> list[str]:
    return [line.partition(" ")[0] for line in lines if line[:1].isdigit()]


@pytest.mark.parametrize(("answers", "sentence"), [
    (["next", "back", "next", "quit"], "stopped with `quit`"), ([None], "interrupted"), (["", None], "interrupted"),
])
def test_walk_ends_where_a_person_asks(answers, sentence):
    asked, _, left = walked(*answers)
    assert [problem.kind for problem in asked.failures] == ["interrupt"]
    assert sentence in asked.failures[0].message
    assert left == []
    assert asked["x"].grad is None


@pytest.mark.parametrize(("answers", "steps"), [
    (["", "n", "next"], "1. 2. 3."), (["rest"], "1."), (["until x", ""], "1. 3."), (["u MulBackward0", "q"], "1. 3."),
    (["", "", "b", "b", "back", "until ExpBackward0", "until x", ""], "1. 2. 3. 2. 1. 2. 3."),
    (["", "back", "until x", ""], "1. 2. 1. 3."), (["", "until SumBackward0", "rest"], "1. 2."),
])
def test_walk_shows_each_step_once_and_then_the_account(answers, steps):
    asked, lines, left = walked(*answers)
    assert (asked.failures, left) == ([], [])
    assert " ".join(steps_in(lines)) == steps
    assert lines[-1].startswith("ran 4 nodes")


def test_walk_tells_its_words():
    _, lines, _ = walked("help", "until", "until nobody", "rest")
    assert steps_in(lines) == ["1."]
    words = ["next", "until", "break", "back", "continue", "rest", "quit", "abort", "anything"]
    assert [line.split()[0] for line in lines[-20:-2]] == words * 2
    assert lines[-2:-1] == ["no remaining node is called nobody"]


def test_nodes_are_grouped_by_the_call_that_made_them():
    asked = Asked(
        "def enc(a):\n    b = a * 2\n    return b.tanh()\n\ndef loss(a):\n    return (enc(a) ** 2).sum()\n\n"
        "x = ones(3, requires_grad=True)\nh = enc(enc(x))\ny = loss(h) + 1\n"
    )
    report = asked.report("graph y --by function")
    assert [(node.name, node.members) for node in report.nodes] == [
        ("AddBackward0", 1), ("loss()", 4), ("enc()", 2), ("enc()", 2),
    ]
    assert report.edges == ((0, 1, 0), (1, 2, 0), (2, 3, 0))
    assert "expand" not in asked.shown("graph y --by function")


NET = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)])\n"
    "        self.heads = [nn.Linear(4, 2), nn.Linear(4, 1)]\n    def forward(self, x):\n"
    "        for block in self.blocks:\n            x = x + block(x)\n        return self.heads[0](x) + self.heads[1](x)\n\n"
    "net = Net()\nz = net(randn(3, 4)).sum()\n"
)


def test_nodes_know_the_module_that_made_them():
    asked = Asked(NET)
    made = {node.module for node in asked.report("graph z --by none").nodes if not node.leaf}
    blocks = {f"net.blocks[{i}][{j}]" for i in range(3) for j in range(2)}
    assert made == {"", "net", "net.heads[0]", "net.heads[1]"} | blocks
    folded = [(node.module, node.members) for node in asked.report("graph z --by module").nodes if node.module not in {"", "net"}]
    assert sorted(folded) == sorted((path, 1 if path.endswith("][1]") else 2) for path in made - {"", "net"})


def test_a_module_is_opened_by_its_path():
    asked = Asked(NET)
    for path in ("net.blocks[1][0]", "net.blocks.1.0"):
        opened = [node.name for node in asked.report(f"graph z --open {path}").nodes if node.module == "net.blocks[1][0]"]
        assert opened == ["AddmmBackward0", "TBackward0"]
    asked.run("graph z --open net.tail")
    assert [(one.kind, "net.tail (modules: net, " in one.message) for one in asked.failures] == [("value", True)]


def test_a_transformer_layer_reads_as_its_modules():
    asked = Asked("layer = nn.TransformerEncoderLayer(16, 4, 32)\nz = layer(randn(5, 2, 16)).sum()\n")
    nodes = asked.report("graph z").nodes
    assert len([node for node in nodes if node.module]) == 11
    assert {"layer.self_attn", "layer.linear1", "layer.norm2"} <= {node.module for node in nodes}
    assert "layer.self_attn.out_proj" in {node.module for node in asked.report("graph z --open layer.self_attn").nodes}


def test_calls_of_one_module_that_follow_each_other_are_one():
    asked = Asked("cell = nn.GRUCell(2, 3)\nh = zeros(1, 3)\nfor i in range(50):\n    h = cell(randn(1, 2), h)\n")
    node, = asked.report("graph h").nodes
    assert (node.module, node.times) == ("cell", 50)


RECURRENT = """class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(2, 3)
        self.out = nn.Linear(3, 1)

    def forward(self, xs):
        h = zeros(1, 3)
        total = 0
        for x in xs:
            h = self.cell(x, h)
            total = total + self.out(h).mean()
        return total

model = Model()
loss = model(randn(40, 1, 2)).exp()
"""


def test_what_repeats_in_a_module_that_made_most_of_the_graph_stands_in_its_place():
    asked = Asked(RECURRENT)
    assert [(node.name, node.times, node.module) for node in asked.report("graph loss").nodes] == [
        ("ExpBackward0", 1, ""), ("iteration of the loop in model", 40, "model"),
    ]
    assert [node.name for node in asked.report("graph loss --by module").nodes] == ["ExpBackward0", "model"]


def test_a_module_that_no_variable_holds_goes_by_its_class():
    asked = Asked("def f(x):\n    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())\n    return net(x)\n\nz = f(ones(1, 2)).sum()\n")
    assert {node.module for node in asked.report("graph z").nodes} >= {"Linear", "Tanh"}


def test_a_filtered_graph_draws_no_edge_that_another_way_shows():
    asked = Asked("w = ones(2, requires_grad=True)\nh = w * 1\nfor i in range(30):\n    h = h * 0.9 + h.sin() * 0.1\n")
    report = asked.report("graph h --name sin")
    assert [len([one for one in report.edges if one[0] == place]) for place in range(len(report.nodes))] == [1] * 29 + [0]
    below = asked.report("graph h --name add").edges
    assert len(below) == 29


def test_a_filtered_graph_keeps_edges_that_are_there():
    asked = Asked("x = ones(2, requires_grad=True)\nh = x.exp()\nz = h * h.sin()\n")
    report = asked.report("graph z --state live")
    kinds = [node.name for node in report.nodes]
    assert {(kinds[a], kinds[b]) for a, b, _ in report.edges} == {
        ("MulBackward0", "ExpBackward0"), ("MulBackward0", "SinBackward0"), ("SinBackward0", "ExpBackward0"),
    }
