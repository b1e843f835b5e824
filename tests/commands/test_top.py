"""`top`: samples of a running program, the pane of a real terminal, and the table at the end."""

import io
import json
import os
import signal
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradsh.contracts.events import ErrorOutput, Print, Value
from gradsh.engine.graph.tensor import node_of
from gradsh.probe.meter import Meter
from gradsh.probe.tally import Tally
from gradsh.probe.top import TopSampler
from gradsh.process.limits import UNBOUNDED
from gradsh.render.style import Style
from gradsh.run.pane import Pane
from gradsh.run.read import code_script
from gradsh.run.script import RunOptions, run_script
from gradsh.run.sinks import JsonSink, TextSink
from gradsh.run.top import Screen
from tests.probe.asking import Asked
from tests.terminal import Terminal

LOOP = "w = ones(4, requires_grad=True)\nkept = []\nfor i in range({}):\n    loss = (w * w).sum()\n    loss.backward()\n    {}\n"
ENDLESS = LOOP.format("10 ** 9", "print('iteration', i, end=' ' if i % 3 else '\\n')")


def test_the_table_of_now():
    asked = Asked("w = ones(100, requires_grad=True)\nh = w.exp()\nz = (h * 2).sum()\nz.backward(retain_graph=True)\nv = ones(3)")
    report, memory = asked.report("top"), asked.report("memory")
    assert report.now == memory.now
    largest = report.largest[0]
    assert (largest.saved, largest.number, largest.nbytes, largest.held_by, largest.line) == ("ExpBackward0.result", 1, 400, ("h",), 2)
    assert [one.nbytes for one in report.largest] == [400, 8]
    assert [one.leaf for one in report.gradients] == ["w"]
    assert report.norm == pytest.approx(asked["w"].grad.norm().item())
    assert report.gradients[0].largest == pytest.approx(asked["w"].grad.abs().max().item())
    assert report.growth is None


def test_what_a_place_saves_again_and_again_is_one_row():
    asked = Asked("w = ones(4, requires_grad=True)\nh = w\nfor i in range(5):\n    h = (h * w).tanh()\nz = h.sum()")
    report = asked.report("top")
    largest = report.largest[0]
    assert (largest.saved, largest.number, largest.nbytes, largest.line) == ("MulBackward0.self", 5, 80, 4)
    assert sum(one.nbytes for one in report.largest) == report.now.saved


def test_growth_is_told_between_samples_of_one_place():
    asked = Asked("w = ones(4, requires_grad=True)\nkept = []\ntotal = 0")
    sampler = TopSampler(Meter(Tally()), lambda _: 3)
    for number in range(1, 8):
        asked.run("kept.append(ones(8))\ntotal = total + (w * 2).sum()")
        sampler.take(asked.session.reachable(), 3, (), "here", number)
    growth = sampler.report().growth
    assert growth is not None
    assert (growth.leaves, growth.variables, growth.graph, growth.total, growth.nodes) == (0, 32, 8, 40, 3)


def test_samples_keep_nothing_alive():
    asked = Asked("w = ones(4, requires_grad=True)\nz = (w.exp() * 2).sum()")
    sampler = TopSampler(Meter(Tally()), asked.session.line_of)
    sampler.take(asked.session.reachable(), 1)
    node = weakref.ref(node_of(asked["z"]))
    asked.run("z = None")
    assert node() is None
    sampler.take(asked.session.reachable(), 1)
    assert (sampler.samples[-1].account.nodes, sampler.samples[-1].largest) == (0, ())


def run_top(code: str, **options) -> tuple[str, str, int]:
    out, err = io.StringIO(), io.StringIO()
    sink = JsonSink(out, err, None) if options.get("format") == "json" else TextSink(out, err, Style(), Style())
    status = run_script(code_script(code), RunOptions(code=code, top=True, limits=UNBOUNDED, **options), sink)
    return out.getvalue(), err.getvalue(), status


def test_without_a_terminal_there_is_the_table_at_the_end():
    out, err, status = run_top(LOOP.format(5, "kept.append(ones(2))") + "print('over')")
    assert (err, status) == ("", 0)
    assert out.startswith("over\nowner ")
    assert "\x1b" not in out
    assert "iteration" in out
    assert "MulBackward0.self" in out
    out, _, _ = run_top("x = 3")
    assert "no graph" not in out
    assert out.startswith("owner ")


def test_the_table_as_json():
    out, _, _ = run_top(LOOP.format(5, "pass"), format="json")
    last = [json.loads(line) for line in out.splitlines() if '"top"' in line]
    assert [(one["event"], one["command"]) for one in last] == [("result", "top")]
    assert set(last[0]["data"]) == {"now", "peak", "growth", "largest", "norm", "gradients", "line", "iteration", "rate"}
    assert last[0]["data"]["line"] == 5


TEXTS = st.text("ab\n\r", max_size=5)
EVENTS = st.lists(st.one_of(
    st.builds(Print, TEXTS, st.booleans()), st.builds(ErrorOutput, TEXTS), st.builds(Value, st.just(1), st.just("7")),
), max_size=12)


def written(events, through) -> str:
    out = io.StringIO()
    sink = TextSink(out, out, Style(), Style())
    take = Screen(sink, Pane(io.StringIO()), Style()) if through else sink
    for event in events:
        take(event)
    if through:
        take.close()
    return out.getvalue()


@given(EVENTS)
def test_what_is_printed_around_a_pane_is_what_is_printed_without_one(events):
    assert written(events, through=True) == written(events, through=False)


def stands(rows: list[str]) -> bool:
    """Whether one pane stands at the bottom, with growth, below what the script prints."""
    begins = [line.startswith("owner ") for line in rows]
    printed = rows[: begins.index(True)] if any(begins) else []
    return (
        begins.count(True) == 1 and "an iteration adds" in "\n".join(rows) and rows[-3].startswith("gradient ")
        and rows[-1].startswith("w ") and any(line.startswith("iteration ") for line in printed)
    )


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_a_pane_stands_below_what_a_script_prints(columns, rows, tmp_path):
    script = tmp_path / "endless.grad"
    script.write_text(ENDLESS)
    with Terminal("run", "--top", str(script), columns=columns, rows=rows) as terminal:
        terminal.until(lambda: stands(terminal.shown().split("\n")), "the pane below what is printed")
        os.kill(terminal.pid, signal.SIGINT)  # a terminal that gets Ctrl-C throws away what it has not shown
        assert terminal.status() == 130
        rows_shown = terminal.text().split("\n")
        numbers = [int(word) for line in rows_shown if line.startswith("iteration ") for word in line.split()[1::2] if word.isdigit()]
        assert numbers[-100:] == list(range(numbers[-100:][0], numbers[-1] + 1))
        assert sum(line.startswith("owner ") for line in rows_shown) == 1


def test_a_pane_at_the_prompt():
    with Terminal() as shell:
        shell.see("grad>")
        shell.run("set top on")
        shell.run("w = ones(2, requires_grad=True); kept = []")
        shell.enter("for i in range(10 ** 9):")
        shell.press("loss = (w * w).sum(); loss.backward(); kept.append(ones(1))\r\r")
        shell.until(lambda: "+4 B" in shell.shown() and "gradient" in shell.shown(), "the growth of what variables hold")
        shell.press("\x03")
        shell.until(shell.at_prompt, "the prompt")
        assert "interrupted" in shell.text()
        assert "held by other variables" in shell.text()
        assert shell.run("x = 1") == ""


def test_a_plain_prompt_prints_the_table_after_a_long_statement():
    with Terminal(TERM="dumb") as shell:
        shell.see("grad>")
        shell.run("set top on")
        shell.run("import time; w = ones(2, requires_grad=True)")
        assert shell.run("(w * w).sum().backward()") == ""
        assert shell.run("(w * w).sum().backward(); time.sleep(0.5)").startswith("owner ")
