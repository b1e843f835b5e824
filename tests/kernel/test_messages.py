"""A kernel in a process of its own, spoken to as a front end does: each kind of message, in Jupyter's words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ipykernel")
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from gradsh.cli.app import run_cli

PATIENCE = 120
FREED = "x = ones(3, requires_grad=True)\nloss = x.exp().sum()"


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    prefix = tmp_path_factory.mktemp("prefix")
    assert run_cli(["kernel", "install", "--prefix", str(prefix)]) == 0
    specs = KernelSpecManager(kernel_dirs=[str(Path(prefix, "share/jupyter/kernels"))])
    manager = KernelManager(kernel_name="gradsh", kernel_spec_manager=specs)
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.fixture
def client(manager: Any) -> Iterator[Any]:
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    yield client
    client.stop_channels()


def run(client: Any, code: str) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """Run a cell; return the reply, and what came before it with its type. A failure drops no cell that is sent soon after it."""
    shown: list[tuple[str, dict[str, Any]]] = []
    reply = client.execute_interactive(
        code, timeout=PATIENCE, allow_stdin=False, stop_on_error=False,
        output_hook=lambda one: shown.append((one["header"]["msg_type"], one["content"])))
    return reply["content"], [one for one in shown if one[0] not in {"status", "execute_input"}]


def reply_to(client: Any, wanted: str) -> dict[str, Any]:
    while True:
        reply = client.get_shell_msg(timeout=PATIENCE)
        if reply["parent_header"]["msg_id"] == wanted:
            return reply["content"]


def test_output_comes_in_order_and_in_all_its_forms(client: Any) -> None:
    _, shown = run(client, f"{FREED}\nprint('before')\nx.shape\nprint('after')\nbuffers loss\ngraph loss")
    assert [kind for kind, _ in shown] == ["stream", "execute_result", "stream", "display_data", "display_data"]
    assert shown[0][1]["text"] == "before\n"
    assert shown[1][1]["data"] == {"text/plain": "torch.Size([3])"}
    table = shown[3][1]["data"]
    assert "<table>" in table["text/html"]
    assert "ExpBackward0  result" in table["text/plain"]
    assert "ExpBackward0" in str(shown[4][1]["data"])
    assert "<svg" in (shown[4][1]["data"].get("image/svg+xml") or shown[4][1]["data"]["text/html"])
    _, shown = run(client, "graph loss --format dot\nbuffers loss --format json")
    assert [list(one["data"]) for _, one in shown] == [["text/plain"], ["text/plain"]]
    assert shown[0][1]["data"]["text/plain"].startswith("digraph")


def test_both_streams_keep_their_order(client: Any) -> None:
    text = "import sys\nprint(1)\nprint(2, file=sys.stderr)\nprint(3)\n1 / 0\n#! error[arithmetic]: ...\nprint(4)"
    _, shown = run(client, text)
    assert [one["name"] for _, one in shown] == ["stdout", "stderr", "stdout", "stderr", "stdout"]
    assert "".join(one["text"][:1] for _, one in shown) == "123\x1b4"


def test_a_failure_names_cells_and_lines_in_colour(client: Any) -> None:
    made, _ = run(client, f"# the first line\n{FREED}")
    run(client, "backward loss")
    reply, shown = run(client, "pass\nbackward loss\nprint('never')")
    assert [kind for kind, _ in shown] == ["error"]
    assert (reply["status"], reply["ename"]) == ("error", "freed")
    story = "\n".join(shown[0][1]["traceback"])
    assert "\x1b[1;31merror[freed]\x1b[0m: backward needs ExpBackward0.result" in story
    first = made["execution_count"]
    for number, line in ((first, 3), (first + 1, 1), (first + 2, 2)):
        assert f"cell {number}:{line}:" in story
    assert f"in cell {first + 1}: keep it with `backward loss --retain` on line 1" in story
    reply, shown = run(client, "y = (")
    assert "error[syntax]" in "".join(shown[0][1]["traceback"])
    assert run(client, "backward loss\n#! error[freed]: ...\nprint('goes on')")[0]["status"] == "ok"


def test_completion_inspection_and_completeness(client: Any) -> None:
    run(client, "weights = ones(2, 3, requires_grad=True)")
    found = reply_to(client, client.complete("y = weigh", 9))
    assert (found["matches"], found["cursor_start"], found["cursor_end"]) == (["weights"], 4, 9)
    assert "(2, 3)" in found["metadata"]["_jupyter_types_experimental"][0]["type"]
    assert reply_to(client, client.complete("graph weights --de", 18))["matches"] == ["depth"]
    assert "requires_grad" in reply_to(client, client.complete("weights.req", 11))["matches"]
    for code, cursor, words in (("weights * 2", 3, "(2, 3)"), ("y = mul(weights, ", 17, "mul"), ("backward", 8, "--retain")):
        told = reply_to(client, client.inspect(code, cursor))
        assert told["found"]
        assert words in told["data"]["text/plain"]
    assert not reply_to(client, client.inspect("nothing_of_that_name", 5))["found"]
    assert "(2, 3)" in str(run(client, "weights?")[1])
    assert reply_to(client, client.is_complete("x = 1"))["status"] == "complete"
    assert reply_to(client, client.is_complete("for i in range(2):")) == {"status": "incomplete", "indent": "    "}


def test_an_interrupt_ends_the_cell_alone_and_history_has_it(client: Any, manager: Any) -> None:
    run(client, "kept = 7")
    wanted = client.execute("print('begun')\nwhile True:\n    pass", stop_on_error=False)
    while client.get_iopub_msg(timeout=PATIENCE)["msg_type"] != "stream":  # until the cell runs
        pass
    manager.interrupt_kernel()
    reply = reply_to(client, wanted)
    assert (reply["status"], reply["ename"]) == ("error", "interrupt")
    assert run(client, "kept")[1][0][1]["data"] == {"text/plain": "7"}
    history = reply_to(client, client.history(hist_access_type="tail", n=2, raw=True, output=False))["history"]
    assert [code for _, _, code in history] == ["print('begun')\nwhile True:\n    pass", "kept"]


def test_a_restart_forgets_the_variables(manager: Any) -> None:
    manager.restart_kernel(now=True)
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE)
    assert run(client, "kept")[0]["ename"] == "name"
    client.stop_channels()
