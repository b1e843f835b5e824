"""The functions of `gradsh.lens`, as a person calls them from a program."""

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

from gradsh import lens  # noqa: E402
from gradsh.lens.lines import LineTracer  # noqa: E402


@pytest.fixture(autouse=True)
def _watched() -> object:
    lens.start()
    yield
    lens.stop()


def here() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def test_lines_of_what_saved_and_what_freed() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp(); saved = here()  # noqa: E702
    z = y.pow(2).sum()
    z.backward(); freed = here()  # noqa: E702
    rows = {row.node: row for row in lens.buffers(z).rows}
    assert rows["ExpBackward0"].saved_line == saved
    assert {row.freed_line for row in rows.values()} == {freed}
    assert {row.shape for row in rows.values()} == {(2,)}
    again = x.sin().sum(); line = here()  # noqa: E702
    assert {row.saved_line for row in lens.buffers(again).rows} == {line}


def test_a_line_within_a_function_and_after_its_return() -> None:
    def inner(value: torch.Tensor) -> torch.Tensor:
        return value.exp()

    x = torch.ones(2, requires_grad=True)
    z = inner(x) * x; line = here()  # noqa: E702
    rows = {row.node: row for row in lens.buffers(z).rows}
    assert rows["MulBackward0"].saved_line == line
    assert rows["ExpBackward0"].saved_line == line - 3
    assert rows["ExpBackward0"].function == "inner()"


def test_plan_foretells_what_backward_does() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    z = (y * y).sum()
    plan = lens.plan(z)
    assert plan.failure is None
    assert [(one.node, one.name) for one in plan.would.freed] == [
        ("MulBackward0", "other"), ("MulBackward0", "self"), ("ExpBackward0", "result")]
    assert [one.name for one in plan.would.wrote] == ["x"]
    assert [one.held_by for one in plan.would.freed] == [("y",)] * 3
    assert plan.would.gave_back == 0
    only = lens.plan(x.exp().sum())
    assert [one.held_by for one in only.would.freed] == [()]
    assert only.would.gave_back == 8
    assert x.grad is None
    z.backward()
    assert lens.plan(z).failure.kind == "freed"
    assert lens.plan(torch.ones(2, requires_grad=True) * 2).failure.kind == "scalar"


def test_a_write_is_told_before_it_fails() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    z = y.sum()
    y.add_(1); written = here()  # noqa: E702
    row = lens.buffers(z).rows[0]
    assert (row.state, row.version, row.current_version) == ("modified", 0, 1)
    assert lens.plan(z).failure.modified_lines == (written,)


def test_a_running_total_leaks() -> None:
    w = torch.ones(2, requires_grad=True)
    total = 0
    for _ in range(4):
        total = total + (w * w).sum()
    leak = lens.leaks().leaks[0]
    assert (leak.kind, leak.path, leak.passes) == ("total", "total", 4)


def test_memory_by_module() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
    loss = net(torch.ones(2, 3)).sum()
    groups = {group.key: group.live for group in lens.memory(by="module").groups}
    assert groups == {"net[1]": 1, "net[0]": 1}
    assert repr(lens.memory(by="module")).startswith("owner ")
    assert "net[1]" in repr(lens.memory(by="module"))
    assert {group.key for group in lens.command("memory --by op").groups} == {"AddmmBackward0", "TanhBackward0"}
    assert [group.key for group in lens.memory(by="variable").groups] == ["loss"]
    del loss


def test_holders_name_the_path() -> None:
    x = torch.ones(3, requires_grad=True)
    kept = {"first": [x.exp()]}
    z = (kept["first"][0] * 2).sum()
    found = lens.holders(kept["first"][0])
    assert [one.name for one in found.holders] == ["kept['first'][0]", "ExpBackward0.result"]
    del z


def test_why_of_a_gradient_that_is_not_there() -> None:
    x = torch.ones(3, requires_grad=True)
    h = x.exp().detach()
    assert not lens.why(h).requires_grad
    assert lens.why(x).gradient.cause == "not_reached"
    z = x.exp().sum()
    z.backward()
    assert lens.why(x).gradient.state == "some"


def test_a_look_shows_itself_as_html_and_as_text() -> None:
    x = torch.ones(3, requires_grad=True)
    z = x.exp().sum()
    assert lens.buffers(z)._repr_html_().startswith("<table>")
    assert lens.graph(z)._repr_html_().startswith("<svg")
    assert lens.plan(z)._repr_html_().startswith("<pre>")
    assert repr(lens.command("graph z --depth 1")).startswith("z  SumBackward0 ()")


def test_every_command_line_works_where_nothing_else_of_gradsh_was_imported() -> None:
    program = (
        "import torch\nfrom gradsh import lens\nx, w = torch.ones(2), torch.ones(2, requires_grad=True)\nh = w * x\nz = h.exp().sum()\n"
        "for line in ('vars', 'graph z', 'buffers', 'why x', 'memory', 'leaks', 'holders x', 'plan z --if \"detach h\"'):\n"
        "    assert str(lens.command(line)), line\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(("ask", "kind", "message"), [
    (lambda: lens.graph(3), TypeError, "graph: argument must be Tensor, not int"),
    (lambda: lens.plan("z"), TypeError, "plan: argument must be Tensor, not str"),
    (lambda: lens.plan(torch.ones(1), grad=[3]), TypeError, "plan: option --grad must be Tensor, not int"),
    (lambda: lens.buffers(by="colour"), ValueError, "--by must be one of module, line, op, function, variable, not 'colour'"),
    (lambda: lens.command("backward z"), ValueError, "'backward z' is none of the commands graph, buffers"),
    (lambda: lens.command(""), ValueError, "'' is none of the commands"),
])
def test_a_wrong_argument_is_told_as_at_the_command(ask: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        ask()


def test_shapes_of_the_meta_device_have_their_bytes() -> None:
    with torch.device("meta"):
        layer = torch.nn.Linear(4096, 4096)
        loss = layer(torch.empty(1024, 4096)).relu().sum()
    assert lens.buffers(loss).totals.unique_bytes >= 2 * 1024 * 4096 * 4
    assert lens.plan(loss).failure is None


def test_dtypes_that_numpy_lacks() -> None:
    x = torch.ones(3, requires_grad=True, dtype=torch.bfloat16)
    z = x.exp().sum()
    assert {row.dtype for row in lens.buffers(z).rows} == {"bfloat16"}
    z.backward()
    assert lens.why(x).gradient.state == "some"


def test_lines_of_a_generator_go_on_where_they_stopped() -> None:
    def losses() -> object:
        for scale in (1, 2):
            yield (x * scale).exp()

    x = torch.ones(2, requires_grad=True)
    made = list(losses())
    assert {row.function for row in lens.buffers(made[1]).rows} == {"losses()"}


def test_passes_of_threads_are_seen() -> None:
    import threading

    found = []

    def work() -> None:
        x = torch.ones(2, requires_grad=True)
        z = x.exp().sum()
        found.append(lens.buffers(z).rows[0].saved_line)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [work.__code__.co_firstlineno + 2]


def test_only_one_tool_follows_lines() -> None:
    assert isinstance(lens.start().lines, LineTracer)
    assert lens.start() is lens.start()
