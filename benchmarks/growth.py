"""How costs grow: processor time for each node, statement, variable, line and iteration, from a thousand of them to a million.

    python -m benchmarks.growth [KIND ...] [--largest 6] [--repetitions 3]

Each size runs in a process of its own; tables have medians in microseconds for one of what is counted, as Markdown.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Metrics, seconds

LOOP = "for i in range({n}):\n    z = (z * w).tanh() + 0.5\n\n"
COMMANDS = ("graph z", "buffers z", "memory", "plan z", "leaks", "holders w", "diff")
PATIENCE = 100.0
"""Seconds that a size may take: where the next would take longer, it is left out."""


def session(*texts: str) -> Callable[[str], float]:
    """Return what runs a text at a prompt, shows it as text and returns its seconds; `texts` are run before."""
    from gradsh.contracts.events import Failure, Result
    from gradsh.render.style import Style
    from gradsh.render.text import result_text
    from gradsh.run.script import collect_again, prepare
    from gradsh.session.session import Session

    prepare()
    made = Session(typed=True)
    collect_again()

    def show(event: object) -> None:
        assert not isinstance(event, Failure), event.problem.message
        if isinstance(event, Result):
            result_text(event, Style())

    for text in texts:
        made.run(text, show)
    return lambda text: seconds(lambda: made.run(text, show))


def nodes(number: int) -> Metrics:
    """Three nodes an iteration; the commands, which were used once on a small graph before; then a pass."""
    warm = "w = ones(3, requires_grad=True)\nz = (w * w).sum()\n" + "\n".join(COMMANDS) + "\nz = w * 1\n"
    run = session(warm + LOOP.format(n=1000) + "z = w * 1\n")
    found = {"building": run(LOOP.format(n=number // 3))}
    run("z = z.sum()")
    found |= {command: run(command) for command in COMMANDS}
    found["x = 1"] = run("x = 1") * number  # for one statement, not for a node
    found["backward z"] = run("backward z")
    return {metric: spent / number for metric, spent in found.items()}


def statements(number: int) -> Metrics:
    """A prompt at which one statement after the other is typed."""
    run = session("w = ones(3)\ny = w\n")
    return {"x = i": sum(run("x = 1") for _ in range(number)) / number, "y = w * 2": sum(run("y = w * 2") for _ in range(number)) / number}


def variables(number: int) -> Metrics:
    """So many variables, each with a tensor of its own; then a statement, and a command that looks at all of them."""
    run = session()
    found = {"binding": run("".join(f"v{i} = ones(2)\n" for i in range(number))) / number}
    return found | {"memory": run("memory") / number, "x = 1": statistics.median(run("x = 1") for _ in range(9))}


def lines(number: int) -> Metrics:
    """A script of so many lines."""
    return {"reading and running": session("y = ones(3)\n")("y = y * 1\n" * number) / number}


def iterations(number: int) -> Metrics:
    """One loop."""
    run = session("y = ones(3)\nx = 0\n")
    return {
        metric: run(f"for i in range({number}):\n    {body}\n") / number
        for metric, body in (("x = x + 1", "x = x + 1"), ("y = y * 1", "y = y * 1"))
    }


def start(number: int) -> Metrics:
    """The program, from its start to its end, with a script of so many lines."""
    from benchmarks.programs import cpu_of

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "long.grad")
        script.write_text("y = ones(3)\n" + "y = y * 1\n" * (number - 1), encoding="utf-8")
        command = [sys.executable, "-m", "gradsh", "run", str(script)]
        cpu_of(command, folder)  # writes the compiled files
        return {"gradsh run": cpu_of(command, folder) / number}


KINDS = {one.__name__: one for one in (nodes, statements, variables, lines, iterations, start)}


def measured(kind: str, number: int, repetitions: int) -> tuple[Metrics, float]:
    """Return the medians of a size, and the seconds that one repetition took."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    found: list[Metrics] = []
    spent = 0.0
    for _ in range(repetitions):
        begun = os.times().elapsed
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.growth", "--one", kind, str(number)], check=True, capture_output=True, text=True,
            env=environment,
        )
        found.append(json.loads(done.stdout.splitlines()[-1]))
        spent = os.times().elapsed - begun
        if spent > PATIENCE / 4:
            break
    return {metric: statistics.median(one[metric] for one in found) for metric in found[0]}, spent


def table(kind: str, largest: int, repetitions: int) -> None:
    """Print the rows of a kind, each as soon as it is known."""
    for power in range(3, largest + 1):
        number = 5000 if kind == "start" else 10**power
        row, spent = measured(kind, number, repetitions)
        if power == 3:
            print(f"| {kind} | " + " | ".join(f"`{metric}`" for metric in row) + " |\n" + "|---" * (len(row) + 1) + "|")
        print(f"| {number:,} | " + " | ".join(f"{1e6 * value:.2f}" for value in row.values()) + " |", flush=True)
        if spent * 11 > PATIENCE * 2 or kind == "start":
            break
    print(flush=True)


def main() -> None:
    """Print the tables."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(KINDS[sys.argv[2]](int(sys.argv[3]))), flush=True)
        os._exit(0)
    parser = argparse.ArgumentParser(prog="benchmarks.growth", description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[[], *KINDS])
    parser.add_argument("--largest", type=int, default=6, help="the power of ten of the largest size")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    for kind in options.kinds or KINDS:
        table(kind, options.largest, options.repetitions)


if __name__ == "__main__":
    main()
