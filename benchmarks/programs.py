"""Whole programs: start-up against Python's own, and a loop in the language against Python calling the library."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import seconds

PROGRAMS = {"start", "language"}

FIVE_LINES = """x = ones(2, 3, requires_grad=True)
y = x.mean(dim=1) + 3
z = y.pow(2).mean()
backward z
x.grad
"""
LOOP = "for i in range(20000):\n    y = y * a + b\n"
PACKAGE = Path(__file__).parents[1] / "gradsh"
BEFORE = "a = torch.full((4,), 0.999)\nb = torch.full((4,), 0.001)\ny = torch.ones(4, requires_grad=True)\n"


def cpu_of(command: list[str], compiled: str) -> float:
    """CPU seconds of a program from its start to its end, with modules compiled before, as an installed one has them."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def interleaved(first: Callable[[], float], second: Callable[[], float], repetitions: int) -> tuple[float, float]:
    """Medians of two measurements that take turns."""
    pairs = [(first(), second()) for _ in range(repetitions)]
    return statistics.median(one for one, _ in pairs), statistics.median(two for _, two in pairs)


def shown(name: str, metric: str, pair: tuple[float, float], against: str, bound: float) -> str:
    """Return one line of the table."""
    ratio = pair[0] / pair[1]
    verdict = "" if ratio <= bound else "  over"
    return (
        f"{name:14} {metric:14} {pair[0] * 1e3:9.2f} {pair[1] * 1e3:9.2f} ms  {against:8} {ratio:5.2f} (goal {bound:.2f}){verdict}"
    )


def language(repetitions: int) -> tuple[float, float]:
    """Seconds of a loop as a script, and of the same text as Python's own."""
    import gradsh
    from gradsh.run.script import prepare
    from gradsh.session.session import Session

    prepare()
    session = Session()
    names = {"torch": gradsh}
    exec(BEFORE, names)
    text = compile("def run(y):\n    for i in range(20000):\n        y = y * a + b\nrun(y)\n", "<loop>", "exec")
    session.run("import torch\n" + BEFORE, lambda event: None)

    def script() -> float:
        spent = seconds(lambda: session.run(LOOP, lambda event: None))
        session.run("y = torch.ones(4, requires_grad=True)", lambda event: None)
        return spent

    return interleaved(script, lambda: seconds(lambda: exec(text, names)), repetitions)


def measure_programs(repetitions: int, wanted: set[str]) -> Iterator[str]:
    """Yield the lines of the table."""
    if not wanted or "language" in wanted:
        yield shown("language", "loop", language(repetitions), "python", 1.05)
    if wanted and "start" not in wanted:
        return
    gradsh, python = [sys.executable, "-m", "gradsh"], sys.executable
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "five.grad")
        script.write_text(FIVE_LINES, encoding="utf-8")
        cpu_of([python, "-m", "compileall", "-q", str(PACKAGE)], folder)
        cpu_of([python, "-c", "import numpy"], folder)
        cpu_of([*gradsh, "run", "--sandbox", "off", str(script)], folder)  # Python's own: behind the wall nothing is written
        for metric, mine, other, against, bound in (
            ("run", [*gradsh, "run", str(script)], [python, "-c", "import numpy"], "numpy", 0.9),
            ("--version", [*gradsh, "--version"], [python, "-c", "pass"], "python", 2.0),
        ):
            commands = (partial(cpu_of, mine, folder), partial(cpu_of, other, folder))
            yield shown("start", metric, interleaved(*commands, repetitions), against, bound)
