"""`gradsh kernel install`: where it writes, and what it says where it cannot."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gradsh.cli.app import run_cli


def test_the_description_starts_this_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ipykernel")
    assert run_cli(["kernel", "install", "--prefix", str(tmp_path)]) == 0
    written = tmp_path / "share/jupyter/kernels/gradsh"
    assert capsys.readouterr().out == f"installed the kernel gradsh in {written}\n"
    spec = json.loads((written / "kernel.json").read_text())
    assert spec["argv"] == [sys.executable, "-m", "gradsh.kernel", "-f", "{connection_file}"]
    (tmp_path / "file").touch()
    assert run_cli(["kernel", "install", "--prefix", str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err.startswith(f"gradsh kernel: cannot write {tmp_path / 'file'}")


def test_wrong_usage_and_a_missing_package_are_told(monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["kernel", "install", "--user", "--prefix", "x"]) == 2
    assert run_cli(["kernel", "remove"]) == 2
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    assert run_cli(["kernel", "install", "--user"]) == 2
    assert capsys.readouterr().err == 'gradsh kernel: the kernel needs ipykernel: pip install "gradsh[jupyter]"\n'
