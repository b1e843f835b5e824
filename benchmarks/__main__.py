"""Prints the table: each workload in one process per library, repetitions interleaved, medians of CPU time, one thread.

`python -m benchmarks [WORKLOAD…] [--raised] [--threads N] [--repetitions N]`; `--raised` runs all with glibc's thresholds raised,
`--threads` with so many threads, and by the clock. Libraries whose gradients differ are told.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.programs import PROGRAMS, measure_programs

LIBRARIES = ("gradsh", "library", "torch", "numpy", "autograd")
"""gradsh as its program runs it, and as another program imports it."""
AS_LIBRARY = {"mlp"}
"""What is also measured as a library."""
ALIKE = 1e-4
"""The part of a sum of gradients by which float32 may differ."""
RAISED = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1), "MALLOC_TOP_PAD_": str(2**28)}


class Goal(NamedTuple):
    """A line of the table: gradsh's metric against another library's (or its own second metric), and the bound."""

    workload: str
    metric: str
    against: str
    bound: float
    unit: str = "ms"
    of: str = "gradsh"


GOALS = (
    Goal("small_chain", "forward", "torch", 0.6, "us"), Goal("small_chain", "backward", "torch", 0.3, "us"),
    Goal("branches", "forward", "torch", 0.38, "us"), Goal("branches", "backward", "torch", 0.27, "us"),
    Goal("long_chain", "forward", "torch", 0.7), Goal("long_chain", "backward", "torch", 0.3),
    Goal("long_chain", "drop", "torch", 2.0), Goal("long_chain", "bytes", "torch", 0.35, "B"),
    Goal("mlp", "step", "torch", 0.9), Goal("mlp", "step", "torch", 0.9, of="library"), Goal("mlp", "step", "numpy", 1.1),
    Goal("elementwise", "step", "torch", 0.3), Goal("elementwise", "peak", "torch", 0.6, "MB"),
    Goal("products", "step", "of raw", 1 / 0.97), Goal("convolution", "step", "torch", 1.0),
    Goal("recurrent", "step", "torch", 0.75), Goal("penalty", "step", "torch", 0.7),
    Goal("deep", "freed", "torch", 0.6, "MB"), Goal("deep_retained", "retained", "torch", 0.7, "MB"),
    Goal("listing", "walk", "torch", 0.6), Goal("transformer", "step", "torch", 1.2), Goal("resnet", "step", "torch", 1.2),
    Goal("lstm", "step", "torch", 1.2), Goal("classes", "step", "torch", 1.2),
)
SCALE = {"us": 1e6, "ms": 1e3, "B": 1.0, "MB": 1e-6}
ONCE = {"long_chain": 3, "deep": 1, "deep_retained": 1, "products": 5, "listing": 7, "elementwise": 9}
"""Repetitions of what takes long; what measures memory needs a fresh process."""


def measure(workload: str, repetitions: int, threads: int, raised: bool) -> dict[str, dict[str, float]]:
    """Return library -> metric -> median, the libraries taking turns."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads))} | (RAISED if raised else {})
    workers = {
        name: subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", name, workload], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=environment,
        )
        for name in LIBRARIES
        if name != "library" or workload in AS_LIBRARY
    }
    found: dict[str, dict[str, list[float]]] = {}
    for name, worker in list(workers.items()):
        assert worker.stdout is not None
        if worker.stdout.readline().strip() != "ready":
            worker.kill()
            workers.pop(name)
    for turn in range(repetitions + 1):
        for name, worker in workers.items():
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write("first\n" if turn == 0 else "again\n")
            worker.stdin.flush()
            for metric, value in json.loads(worker.stdout.readline()).items():
                found.setdefault(name, {}).setdefault(metric, []).append(value)
    for worker in workers.values():
        worker.communicate()
    return {
        name: {metric: statistics.median(values[1:] or values) for metric, values in metrics.items()}
        for name, metrics in found.items()
    }


def row(goal: Goal, found: dict[str, dict[str, float]]) -> str:
    """Return one line of the table."""
    own = found.get(goal.of, {})
    mine = own.get(goal.metric)
    other = own.get(goal.against) if goal.against in own else found.get(goal.against, {}).get(goal.metric)
    name = goal.metric if goal.of == "gradsh" else f"{goal.metric} ({goal.of})"
    shown = [f"{one * SCALE[goal.unit]:9.2f}" if one is not None else "        -" for one in (mine, other)]
    if mine is None or not other:
        return f"{goal.workload:14} {name:14} {shown[0]} {shown[1]} {goal.unit:3} {goal.against:8} not measured"
    ratio = mine / other
    verdict = "" if ratio <= goal.bound else "  over"
    return (
        f"{goal.workload:14} {name:14} {shown[0]} {shown[1]} {goal.unit:3} {goal.against:8} "
        f"{ratio:5.2f} (goal {goal.bound:.2f}){verdict}"
    )


def disagreements(workload: str, found: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield a line for each library whose gradients add up to something else than gradsh's."""
    own = found.get("gradsh", {}).get("gradients")
    for name, metrics in found.items():
        other = metrics.get("gradients", own)
        if own is not None and other is not None and not math.isclose(own, other, rel_tol=ALIKE):
            yield f"{workload:14} gradients add up to {own:.8g}, those of {name} to {other:.8g}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--raised", action="store_true", help="raise glibc's thresholds for every library")
    parser.add_argument("--threads", type=int, default=1, help="how many; several are measured by the clock")
    parser.add_argument("--repetitions", type=int, default=15)
    options = parser.parse_args()
    print(f"{'workload':14} {'metric':14} {'gradsh':>9} {'other':>9} {'':3} {'against':8} ratio")
    for workload in dict.fromkeys(goal.workload for goal in GOALS):
        if options.workloads and workload not in options.workloads:
            continue
        repetitions = min(options.repetitions, ONCE.get(workload, options.repetitions))
        repetitions = repetitions if workload not in {"deep", "deep_retained"} else 0
        found = measure(workload, repetitions, options.threads, options.raised)
        lines = [row(goal, found) for goal in GOALS if goal.workload == workload]
        print(*lines, *disagreements(workload, found), sep="\n", flush=True)
    if not options.workloads or set(options.workloads) & PROGRAMS:
        for line in measure_programs(options.repetitions, set(options.workloads)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
