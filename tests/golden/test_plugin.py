"""pytest collects scripts through the plugin that gradsh installs."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = "x = 2\nprint(x)\n#> 2\nx * 1.5\n#> 4.0\nprint('last')\n#> last\n"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    def start(*args: str, env: dict[str, str] | None = None) -> tuple[int, str]:
        keep = {name: value for name, value in os.environ.items() if name not in {"CI", "PYTEST_ADDOPTS"}}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "gradsh.pytest_plugin", "-p", "no:cacheprovider", *args],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
            env={**keep, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(env or {})},
        )
        return done.returncode, done.stdout + done.stderr

    return start


def test_a_test_for_each_statement(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text(SCRIPT)
    (tmp_path / "b.grad").write_text("print(1)\n")
    status, out = run("-v")
    assert status == 1
    assert re.findall(r"^(\S+?::.+?) (PASSED|FAILED)", out, re.MULTILINE) == [
        ("a.grad::line 2: print(x)", "PASSED"), ("a.grad::line 4: x * 1.5", "FAILED"),
        ("a.grad::line 6: print('last')", "PASSED"), ("a.grad::rest", "PASSED"), ("b.grad::rest", "PASSED"),
    ]
    assert "-#> 4.0\n+#> 3.0\n" in out
    assert "Traceback" not in out


def test_unannounced_failures_belong_to_the_rest(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("nonsense\nprint(1)\n#> 1\n")
    (tmp_path / "broken.grad").write_text("print((1)\n")
    status, out = run("-v")
    assert status == 1
    assert re.findall(r"::(\S+).* (PASSED|FAILED)", out.split("= FAILURES")[0]) == [
        ("line", "PASSED"), ("rest", "FAILED"), ("rest", "FAILED")]
    assert "the statement failed" in out


def test_update(run: Callable, tmp_path: Path) -> None:
    path = tmp_path / "a.grad"
    path.write_text("print('a\\nb')\n#> a\n" + SCRIPT)
    assert run("--grad-update")[0] == 0
    assert path.read_text() == "print('a\\nb')\n#> a\n#> b\n" + SCRIPT.replace("4.0", "3.0")
    assert run()[0] == 0


def test_update_is_refused_under_ci(run: Callable, tmp_path: Path) -> None:
    path = tmp_path / "a.grad"
    path.write_text(SCRIPT)
    status, out = run("--grad-update", env={"CI": "1"})
    assert status == 4
    assert "CI is set" in out
    assert path.read_text() == SCRIPT
