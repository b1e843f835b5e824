"""`browse`: the log of a graph as rows, and the screen in a real terminal."""

import pytest

from gradsh.engine.graph.tensor import node_of
from gradsh.probe.fold import NodeFold
from gradsh.probe.log import GraphLog
from tests.probe.asking import Asked
from tests.terminal import Terminal

NET = "net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))\nh = net(ones(3, 4))\nz = (h * h.exp()).sum()\n"
LAYERS = "enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 6)\nz = enc(ones(2, 3, 8)).sum()\n"


def log_of(text: str, name: str = "z") -> GraphLog:
    session = Asked(text).session
    return GraphLog([node_of(session.machine.program[name])], session.machine.variables(), session.line_of, session.scopes_of)


def test_the_log_is_drawn_with_a_column_for_each_branch():
    shown = Asked("x = ones(2, requires_grad=True)\nh = x.exp()\nz = (h * x.sin()).sum()\n").shown("browse z")
    assert shown.rstrip().split("\n") == [
        "●  z  SumBackward0 ()  line 3", "●─┐  MulBackward0 (2,)  16 B live  line 3", "│ ●  SinBackward0 (2,)  8 B live  line 3",
        "●  h  ExpBackward0 (2,)  8 B live  line 2",
    ]
    assert "no graph" in Asked("y = 1").shown("browse")


@pytest.mark.parametrize("program", [NET, LAYERS])
def test_every_edge_leads_down_and_every_branch_ends(program):
    log = log_of(program)
    for folded in (True, False):
        log.fold_all(folded=folded)
        rows = log.rows(0, len(log.units))
        assert len(rows) == len(log.units)
        for place, unit in enumerate(log.units):
            assert all(log.place[id(one)] > place for one in log.below(unit))
        assert [row.title for row in log.rows(7, 5)] == [row.title for row in rows[7:12]]
        assert [row.lanes for row in log.rows(7, 5)] == [row.lanes for row in rows[7:12]]
        assert sum(len(unit.nodes) if isinstance(unit, NodeFold) else 1 for unit in log.units) == len(log.nodes)


def test_rows_unfold_and_fold():
    log = log_of(LAYERS)
    place = next(place for place, unit in enumerate(log.units) if isinstance(unit, NodeFold))
    path = log.units[place].module
    before = len(log.units)
    opened = log.toggle(place)
    assert len(log.units) > before
    assert not any(isinstance(unit, NodeFold) and unit.module == path for unit in log.units)
    assert log.units[opened] in log.nodes
    inner = next(place for place, unit in enumerate(log.units) if isinstance(unit, NodeFold) and unit.module.startswith(path))
    again = log.toggle(log.toggle(inner))
    assert isinstance(log.units[again], NodeFold)


def test_filters_search_and_lines():
    log = log_of(NET + "z.backward()\nq = (h * 2).exp().sum()\n", "q")
    log.fold_all(folded=False)
    assert log.search("tanh", 0) == next(place for place, node in enumerate(log.units) if node.name() == "TanhBackward0")
    assert log.search("net[2]", 0) is not None
    assert log.search("nowhere", 0) is None
    assert log.at_line(5) == 0
    log.filter = "freed"
    log.lay_out()
    assert {node.name() for node in log.units} == {"TanhBackward0", "AddmmBackward0"}
    log.filter = "stale"
    log.lay_out()
    assert log.units == []


def test_the_cost_of_a_row_does_not_grow_with_the_graph():
    log = log_of("w = ones(2, requires_grad=True)\nz = w\nfor i in range(400):\n    z = (z * w).tanh() + z * 0.5\n")
    log.fold_all(folded=False)
    told: list[int] = []
    tell = log._tell
    log._tell = lambda unit: told.append(1) or tell(unit)  # type: ignore[method-assign]
    log.rows(1000, 20)
    assert len(told) == 20


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (130, 40)])
def test_the_screen(columns: int, rows: int) -> None:
    with Terminal(columns=columns, rows=rows) as shell:
        shell.see("grad>")
        for line in LAYERS.strip().split("\n"):
            shell.run(line)

        def press(keys: str, shown: str) -> None:
            shell.press(keys)
            shell.until(lambda: shown in shell.shown(), f"{shown} after {keys!r}")

        press("browse z\r", "1/7")
        assert "+ enc.layers[5]  64 nodes" in shell.shown()
        press("j", "2/7")
        press("\r", "enc.layers[5].self_attn")
        press("/softmax\r", "enc.layers[5].self_attn: 48 nodes")
        press("p", "before this row backward would run")
        press("G", "17/17")
        press("l2\r", " 1/17")
        press("f", "no node matches")
        press("ffff", "17 rows")
        press("?", "fold or unfold")
        press("?", "z = enc(")
        press("q", "grad>")
        assert shell.run("z.shape") == "torch.Size([])"


def test_a_plain_terminal_prints_the_log() -> None:
    with Terminal(TERM="dumb") as shell:
        shell.see("grad>")
        shell.run("x = ones(2, requires_grad=True); z = x.exp().sum()")
        assert "*  z  SumBackward0 ()" in shell.run("browse z")
