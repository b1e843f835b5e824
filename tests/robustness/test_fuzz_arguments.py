"""Fuzz of the command line: any arguments are options, or a usage error with status 2; and whole processes, with scripts."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gradsh import __main__ as entry
from gradsh.cli import app as cli
from gradsh.cli import dispatch as start
from gradsh.golden import runner
from gradsh.run import script as running
from tests.robustness.hostile import Hostile, words
from tests.sweep import draws

STATUSES = {0, 1, 2}
CODES = [
    "print(1)", "x = (", "1 / 0", "while True: pass", "x = [1]\nwhile True: x = [x, x] * 2", "zeros(10**12)", "\x00", "import os",
    "é", "f(", "",
]


@pytest.fixture
def parsed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run: only what reads arguments is at work."""
    monkeypatch.setattr(start, "start", lambda _: 0)
    monkeypatch.setattr(runner, "run_tests", lambda _: 0)
    monkeypatch.setattr(running, "prepare", lambda: None)
    monkeypatch.setattr(running, "list_parameters", lambda _: 0)
    monkeypatch.setattr("gradsh.run.workers.use_threads", lambda *_, **__: None)


def safe(arguments: list[str]) -> list[str]:
    """Leave out files outside of the folder."""
    found = [one.encode("utf-8", "replace").decode() for one in arguments]
    return [one for one in found if not one.lstrip("-=").startswith(("/", "~", "..")) and "\0" not in one]


@settings(max_examples=draws(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.randoms(use_true_random=False).map(lambda source: Hostile(source).arguments()))
@example(["run", "--seed", "--5"])
@example(["run", "--seed", "9" * 5000])
@example(["run", "--timeout", "nan"])
@example(["-c", "1", "--max-memory", "1e30G"])
@example(["test", "--durations", "9" * 5000])
@example(["--set", "=", ""])
def test_any_arguments_are_options_or_a_usage_error(parsed_only: None, arguments: list[str]) -> None:
    if arguments[:1] == ["check"]:
        return
    options = entry.fast_options(arguments)
    if options is not None:
        assert isinstance(options, running.RunOptions)
        return
    assert cli.run_cli(entry.with_default(arguments)) in STATUSES


def process(arguments: list[str], folder: Path, text: str = "") -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "gradsh", *(os.fsencode(one) for one in arguments)], input=text.encode("utf-8", "surrogatepass"),
        capture_output=True, cwd=folder, env=environment, timeout=60, check=False,
    )


def is_clean(done: "subprocess.CompletedProcess[bytes]") -> None:
    told = done.stdout + done.stderr
    assert done.returncode in STATUSES, (done.returncode, told[-500:])
    for word in (b"Traceback (most", b"gradsh itself failed", b"<gradsh "):
        assert word not in told, told[-2000:]


@pytest.mark.parametrize("seed", range(draws(12)))
def test_processes_with_any_arguments_end_with_a_documented_status(tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    (tmp_path / "x.grad").write_text("print(1)\n#> 1\n", encoding="utf-8")
    arguments = safe(Hostile(source).arguments())
    if "watch" in arguments:
        return
    is_clean(process(arguments, tmp_path, "print(2)"))


@pytest.mark.parametrize("seed", range(draws(12)))
def test_processes_with_hostile_scripts_end_in_time_with_words(tmp_path: Path, seed: int) -> None:
    source = random.Random(1000 + seed)
    text = source.choice((*CODES, *words()["REFUSED"])) if seed % 3 == 0 else Hostile(source).program()
    script = tmp_path / "hostile.grad"
    script.write_bytes(text.encode("utf-8", "surrogatepass"))
    limits = ["--timeout", "3", "--max-memory", "300M", "--max-output", "1M"]
    plain = process(["run", *limits, "hostile.grad"], tmp_path)
    is_clean(plain)
    announced = any(word in text for word in ("tour", "expect error", "#!"))  # a failure that is meant to be
    assert announced or (plain.returncode == 0) == (b"error[" not in plain.stderr)
    told = process(["run", *limits, "--format", "json", "hostile.grad"], tmp_path)
    is_clean(told)
    assert all("event" in json.loads(line) for line in told.stdout.decode().splitlines())
    is_clean(process(["test", *limits, "hostile.grad"], tmp_path))
