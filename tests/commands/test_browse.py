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


class Screen:
    """A shell with the screen of `browse` over a program."""

    def __init__(self, shell: Terminal, program: str) -> None:
        self.shell = shell
        shell.see("grad>")
        for line in program.strip().split("\n"):
            shell.run(line)

    def press(self, keys: str, *shown: str) -> str:
        """Press keys; wait until the screen shows all that is expected."""
        self.shell.press(keys)
        self.shell.until(lambda: all(one in self.shell.shown() for one in shown), f"{shown} after {keys!r}")
        return self.shell.shown()

    def row_of(self, text: str) -> int:
        """Return the row of the screen, from 0, that shows a text first."""
        return next(y for y, row in enumerate(self.shell.screen.display) if text in row)

    def click(self, y: int, x: int = 5) -> None:
        """Press and release the mouse's button at a row of the screen."""
        self.shell.press(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m")


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_a_backward_on_the_screen_is_a_true_one_and_is_taken_back(columns: int, rows: int) -> None:
    with Terminal(columns=columns, rows=rows) as shell:
        screen = Screen(shell, "x = ones(2, requires_grad=True)\nx.grad = ones(2)\nh = (x * x).exp()\nz = h.sum()")
        screen.press("browse z\r", "1/3", "●  h  ExpBackward0 (2,)  8 B live")
        screen.press("p", "backward would run 4 nodes, free 3 buffers")
        screen.press("p", "1/3")
        screen.press("b", "[backward: 1 node run]", "1. z  SumBackward0")
        screen.press("s", "[backward: 2 nodes run]", "freed result 8 B", "ExpBackward0 (2,)  freed")
        screen.press("s", "[backward: 3 nodes run, over]", "x.grad added to", "0 B saved")
        screen.press("u", "[backward: 2 nodes run]", "16 B saved")
        screen.press("u", "[backward: 1 node run]", "24 B saved", "8 B live")
        screen.press("G", "3/3")
        screen.press("c", "[backward: 3 nodes run, over]")
        screen.press("s", "[backward: 3 nodes run, over]")
        screen.press("a", "the backward was taken back", "24 B saved")
        screen.press(" ", "[backward: 3 nodes run, over]")
        screen.press("q", "grad>")
        shell.until(shell.at_prompt, "the prompt")
        assert shell.run("x.grad") == "tensor([1., 1.])"
        assert "ExpBackward0.result" in shell.run("backward z")
        assert shell.run("x.grad")[:13] == "tensor([6.436"


def test_a_backward_that_fails_on_the_screen_is_told_and_changes_nothing() -> None:
    with Terminal() as shell:
        screen = Screen(shell, "x = ones(2, requires_grad=True)\nh = x * x\nz = h.exp() * 2\nq = h.sum(); q.backward(); z = z.sum()")
        screen.press("browse z\r", "1/4")
        screen.press("p", "backward would fail: error[freed]")
        screen.press("b", "1. z  SumBackward0")
        screen.press("r", "  error[freed]: ", "16 B saved")
        screen.press("q", "grad>")
        assert "2 saved tensors" in shell.run("buffers z --live")


def test_the_mouse_selects_unfolds_and_scrolls() -> None:
    with Terminal(columns=80, rows=24) as shell:
        screen = Screen(shell, LAYERS)
        screen.press("browse z\r", "1/7", "+ enc.layers[4]")
        screen.click(screen.row_of("enc.layers[4]"))
        screen.press("", " 3/7")
        screen.click(screen.row_of("enc.layers[4]"))
        screen.press("", "enc.layers[4].self_attn")
        screen.press("\x1b[<64;5;5M", " 1/17")
        screen.press("\x1b[<65;5;5M", " 4/17")
        screen.press("m", "mouse off")
        screen.press("q", "grad>")


@pytest.mark.parametrize("columns", [80, 120])
def test_from_a_node_to_its_line_and_back(columns: int, tmp_path) -> None:
    script = tmp_path / "net.grad"
    script.write_text("x = ones(2, requires_grad=True)\nh = x.exp()\nfor i in range(3):\n    h = h * 2\nz = h.sum()  # the sum\n")
    with Terminal("-i", str(script), columns=columns, rows=24) as shell:
        shell.until(shell.at_prompt, "the prompt")
        screen = Screen(shell, "1")
        screen.press("browse z\r", "1/5", "5 | z = h.sum()  # the sum")
        y = screen.row_of("5 | z =")
        x = shell.screen.display[y].index("h.sum()")
        cells = [shell.screen.buffer[y][at] for at in range(x, x + 7)]
        assert all(cell.underscore for cell in cells)
        assert not shell.screen.buffer[y][x + 7].underscore
        assert shell.screen.buffer[y][shell.screen.display[y].index("# the sum")].fg != "default"
        screen.press("\t", " line 5 ", "     3          24 B     4 |     h = h * 2")
        screen.press("kkk", " line 2 ")
        screen.press("\r", " 5/5 ")
        screen.press("\tg\r", " line 1  no node was made on line 1")
        screen.press("jjj\r", " 2/5 ")
        screen.press("q", "grad>")


def test_a_plain_terminal_prints_the_log() -> None:
    with Terminal(TERM="dumb") as shell:
        shell.see("grad>")
        shell.run("x = ones(2, requires_grad=True); z = x.exp().sum()")
        assert "*  z  SumBackward0 ()" in shell.run("browse z")
