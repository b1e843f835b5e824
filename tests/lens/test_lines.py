"""Which line made which node, with a counter in PyTorch's place: on every Python, by a trace function or by sys.monitoring."""

import sys
from pathlib import Path

import pytest

from gradsh.lens.files import UserFiles
from gradsh.lens.lines import LineTracer
from gradsh.runtime.activation import scopes

NUMBER = [0]
MADE: dict[str, int] = {}


def make(name: str) -> None:
    """Make a node in a library's code, so to say."""
    MADE[name] = NUMBER[0]
    NUMBER[0] += 1


PROGRAM = """def inner():
    make("inner")
    return 1

def fail():
    make("fail")
    raise ValueError

def outer():
    make("first")
    x = inner() + (make("after") or 1)
    for i in range(3):
        make(f"pass {i}")
    try:
        fail()
    except ValueError:
        make("handled")

outer()
"""


def test_lines_calls_and_passes(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    files = UserFiles()
    files.own.add(str(path))
    files._known[__file__] = False
    lines = LineTracer(files, lambda: NUMBER[0])
    outer = sys.gettrace()
    lines.start()
    try:
        exec(compile(PROGRAM, str(path), "exec"), {"make": make, "__name__": "__main__"})
    finally:
        lines.stop()
    assert sys.gettrace() is outer
    found = {name: lines.find(number) for name, number in MADE.items()}
    assert {name: place and -place[2] for name, place in found.items()} == {
        "first": 10, "inner": 2, "after": 11, "pass 0": 13, "pass 1": 13, "pass 2": 13, "fail": 6, "handled": 17,
    }
    assert [one.label for one in scopes(found["inner"])] == ["outer()", "inner()"]
    assert [scopes(found[f"pass {i}"])[-1].instance[1] for i in range(3)] == [1, 2, 3]
    assert [one.label for one in scopes(found["handled"])] == ["outer()"]


@pytest.mark.parity
def test_a_module_of_the_program_within_one_of_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    from gradsh import lens

    class Inner(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.exp()

    net = torch.nn.Sequential(torch.nn.Linear(2, 2), Inner(), torch.nn.Tanh())
    with lens.watching():
        loss = net(torch.ones(2)).sum()
    lines = {row.node: (row.saved_line, row.function) for row in lens.buffers(loss).rows}
    lens.stop()
    first = Inner.forward.__code__.co_firstlineno
    assert lines["ExpBackward0"] == (first + 1, "forward()")
    assert lines["TanhBackward0"][0] == first + 5
