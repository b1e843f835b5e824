"""Files that commands write: only where they are allowed, whole, and with a clear error otherwise."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.process.files import write_whole

CODE = "x = ones(2, requires_grad=True)\nz = x.exp().sum()\n"


def test_scripts_may_not_write(gradsh: Callable, tmp_path: Path) -> None:
    done = gradsh("-c", CODE + "graph z --format dot --output g.dot\nprint('never')")
    assert (done.status, done.out) == (1, "")
    assert "error[io]" in done.err
    assert "--allow-files" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("form", "start"), [
    ("dot", "digraph"), ("mermaid", "flowchart"), ("text", "z  SumBackward0"), ("json", "{"),
])
def test_allowed_folder(gradsh: Callable, tmp_path: Path, form: str, start: str) -> None:
    done = gradsh("run", "--allow-files", ".", "-c", CODE + f"graph z --format {form} --output g.out\nprint('on')")
    assert (done.status, done.out, done.err) == (0, "on\n", "")
    text = (tmp_path / "g.out").read_text()
    assert text.startswith(start)
    assert form != "json" or json.loads(text)


@pytest.mark.parametrize("name", ["../g.dot", "/tmp/gradsh-escape.dot", "link/g.dot"])
def test_outside_of_the_folder(gradsh: Callable, tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path)
    done = gradsh("run", "--allow-files", "in", "-c", CODE + f'graph z --format dot --output "{name}"')
    assert done.status == 1
    assert "is outside of in" in done.err
    assert not list(tmp_path.glob("*.dot"))


def test_unwritable(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "g.dot").mkdir()
    done = gradsh("run", "--keep-going", "--allow-files", ".", "-c", CODE + "graph z --output g.dot\nprint('on')")
    assert (done.status, done.out) == (1, "on\n")
    assert "error[io]: cannot write" in done.err
    assert "Is a directory" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["g.dot"]


def test_format_goes_to_standard_output(gradsh: Callable) -> None:
    assert gradsh("-c", CODE + "graph z --format dot").out.startswith("digraph")
    assert gradsh("-c", CODE + "vars --format dot").status == 1
    assert gradsh("-c", CODE + "vars --format xml").err.startswith("error[syntax]")


def test_a_picture_of_what_is_not_drawn_is_refused_before_the_command_runs(gradsh: Callable, tmp_path: Path) -> None:
    assert "'svg' is not one of text, json" in gradsh("-c", CODE + "backward z --format svg").err
    done = gradsh("run", "--keep-going", "--allow-files", ".", "-c", CODE + "backward z --output z.svg\nx.grad is None")
    assert (done.status, done.out) == (1, "True\n")
    assert "error[value]: backward has nothing to draw as svg; its formats are text, json" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_failure_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as raised:
        write_whole(tmp_path / "none" / "x", b"")
    assert raised.value.filename == str(tmp_path / "none" / "x")
