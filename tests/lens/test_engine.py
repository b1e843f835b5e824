"""`gradsh run --engine torch`: the scripts and situations on PyTorch, with the same commands, values, lines and failures."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.parity, pytest.mark.filterwarnings("ignore"),
]
torch = pytest.importorskip("torch")

from gradsh.commands import USAGE, find  # noqa: E402
from gradsh.contracts.events import ErrorOutput, Failure, Print, Result, Value  # noqa: E402
from gradsh.lens.engine import OWN, TorchSession  # noqa: E402
from gradsh.render.style import Style  # noqa: E402
from gradsh.render.text import event_text  # noqa: E402
from gradsh.session.session import Session  # noqa: E402
from tests.lens.test_export import BYTES_DIFFER  # noqa: E402
from tests.lens.traced import forked  # noqa: E402
from tests.oracle import compare  # noqa: E402

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.grad"))
SITUATIONS = sorted((ROOT / "tests" / "oracle" / "real").glob("*.py"))


def events_of(session: Session, text: str, name: str = "x.grad") -> list[Any]:
    events: list[Any] = []
    session.run(text, events.append, name=name, keep_going=True)
    return events


def text_of(events: list[Any]) -> str:
    shown = (event_text(event, Style()) for event in events if isinstance(event, Print | Value | Result | ErrorOutput))
    return "".join(one[1] for one in shown if one is not None)


def on_torch(text: str, **options: Any) -> str:
    return text_of(events_of(TorchSession(**options), text))


def outline(events: list[Any]) -> tuple[list[str], list[tuple[int, str]]]:
    """The lines that are printed and shown, and (line, kind) of the failures."""
    lines = "".join(event.text + "\n" * (isinstance(event, Value) or event.newline) for event in events if isinstance(event, Print | Value))
    failures = [(event.line, event.problem.kind) for event in events if isinstance(event, Failure)]
    return re.sub(r"0x[0-9a-f]{5,}", "0x0", lines).removesuffix("\n").split("\n"), failures


@pytest.mark.parametrize("path", [*SCRIPTS, *SITUATIONS], ids=lambda path: path.stem)
def test_a_program_does_on_pytorch_what_it_does_here(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if re.search(rf"^(?:{'|'.join(OWN)}|backward .*--step)\b(?! --grad)", text, re.MULTILINE):
        pytest.skip("uses what only gradsh's engine has")
    lines, failures = outline(events_of(Session(), text, str(path)))
    found_lines, found_failures = outline(events_of(TorchSession(), text, str(path)))
    loose = "rng" in compare.tags_of(str(path)) and "manual_seed" not in text
    differences = compare.facet_prints({"prints": lines}, {"prints": found_lines}, loose)
    assert bool(differences) == (path.stem in BYTES_DIFFER), differences
    assert found_failures == failures


def test_commands_look_at_pytorch_s_graph() -> None:
    shown = on_torch(
        "x = ones(2, requires_grad=True)\ny = x.exp()\nz = y.sum()\ngraph z\nplan z\nbackward z\nbuffers\nwhy x\nholders y\nvars\ndiff\n"
    )
    assert "└─ y  ExpBackward0 (2,)  ● result 8 B, also held by y  line 2\n" in shown
    assert "would run 3 nodes, free 1 buffer: ExpBackward0.result (8 B, memory still held by y); write x.grad\n" in shown
    assert "ran 3 nodes, freed 1 buffer: ExpBackward0.result (8 B, memory still held by y); wrote x.grad\n" in shown
    assert "freed by line 6" in shown
    assert re.search(r"y +Tensor +\(2,\) +float32 +yes +ExpBackward0 +0 +8 B +no", shown)
    assert "  freed 1 buffer, 8 B: ExpBackward0.result\n  wrote x.grad\n" in shown


def test_a_pass_with_a_gradient_of_its_own_is_told() -> None:
    shown = on_torch("x = ones(2, requires_grad=True)\nh = x.exp()\nplan h --grad ones(2)\nbackward h --grad ones(2)\n")
    assert shown.split("\n")[0].startswith("would run 2 nodes, free 1 buffer: ExpBackward0.result")
    assert shown.split("\n")[1].startswith("ran 2 nodes, freed 1 buffer: ExpBackward0.result")


@pytest.mark.parametrize("name", sorted(USAGE.keys() - OWN.keys()))
def test_the_examples_of_commands_run_on_pytorch_or_the_command_says_why_not(name: str) -> None:
    for text in find(name).examples:
        found = [event for event in events_of(TorchSession(), text) if isinstance(event, Failure)]
        expected = [event for event in events_of(Session(), text) if isinstance(event, Failure)]
        others = [event for event in found if "is not available on PyTorch" not in event.problem.message]
        assert [(one.line, one.problem.kind) for one in others] == [(one.line, one.problem.kind) for one in expected]


def test_what_two_marks_are_between_has_its_last_node() -> None:
    text = "x = ones(2, requires_grad=True)\nmark a\nz = x.exp().sum()\nmark b\nw = z * 2\ndiff a b\n"
    assert on_torch(text) == text_of(events_of(Session(), text))


def test_commands_in_functions_and_loops_see_their_variables() -> None:
    shown = on_torch(
        "def step(w):\n    h = w * 2\n    s = h.exp().sum()\n    plan s\n    backward s\n\n"
        "for i in range(2):\n    step(ones(2, requires_grad=True))\n"
    )
    assert shown == 2 * (
        "would run 4 nodes, free 2 buffers: ExpBackward0.result (8 B), MulBackward0.other (8 B), releasing 16 B; write w.grad\n"
        "ran 4 nodes, freed 2 buffers: ExpBackward0.result (8 B), MulBackward0.other (8 B), releasing 16 B; wrote w.grad\n"
    )


def test_what_only_gradsh_has_is_said() -> None:
    text = "x = ones(2, requires_grad=True)\nh = x.exp()\nretain h\nundo\nretain --grad h\nbackward h.sum() --step"
    events = events_of(TorchSession(), text)
    messages = [event.problem.message for event in events if isinstance(event, Failure)]
    assert [re.findall("`([^`]+)`", message)[0] for message in messages] == ["retain", "undo", "--step"]


def test_expected_failures_assertions_and_time() -> None:
    shown = on_torch(
        "x = ones(2, requires_grad=True)\nz = x.exp().sum()\nprint(live_bytes(), freed(z), saved(z, 'self'))\nz.backward()\n"
        "expect error freed: z.backward()\nprint(live_bytes(), freed(z))\ntime y = x * 2\nprint(y.shape)\n"
    )
    assert shown.startswith("8 False False\n0 True\ntook ")
    assert shown.endswith("torch.Size([2])\n")


def test_real_sizes_on_the_meta_device() -> None:
    text = "layer = nn.TransformerEncoderLayer(4096, 32, 16384)\nloss = layer(torch.empty(2048, 8, 4096)).sum()\nplan loss\n"
    shown = forked(lambda: sys.stdout.write(on_torch(text, device="meta")) and 0).out
    assert "would run" in shown
    size = re.search(r"releasing ([\d,]+) B", shown)
    assert size is not None
    assert int(size[1].replace(",", "")) > 5 << 30


def test_an_import_beside_the_script_and_the_exit_status(tmp_path: Path) -> None:
    from gradsh.cli.app import run_cli

    (tmp_path / "layers.py").write_text("def double(x):\n    y = x.exp()\n    return y\n", encoding="utf-8")
    (tmp_path / "s.grad").write_text(
        "from layers import double\nx = ones(2, requires_grad=True)\nz = double(x).sum()\nbuffers z\nz.backward()\nz.backward()\n",
        encoding="utf-8",
    )
    ran = forked(lambda: run_cli(["run", "--engine", "torch", str(tmp_path / "s.grad")]))
    assert ran.status == 1
    assert "ExpBackward0  result" in ran.out
    assert "layers.py:2" in ran.err
    assert "needed again here" in ran.err
    ran = forked(lambda: run_cli(["run", "--engine", "torch", "--format", "json", "-c", "print(ones(1).sum())\nx = ones(1)"]))
    assert [event["event"] for event in ran.events] == ["print", "state"]
    assert ran.events[1]["tensors"]["x"]["data"] == [1.0]
