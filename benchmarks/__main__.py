"""Prints the table: each workload in one process per library, repetitions interleaved, medians of CPU time, one thread.

`python -m benchmarks [WORKLOAD…] [--raised] [--repetitions N]`; `--raised` runs all with glibc's thresholds raised.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import NamedTuple

from benchmarks.programs import PROGRAMS, measure_programs

LIBRARIES = ("gradsh", "torch", "numpy", "autograd")
RAISED = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1), "MALLOC_TOP_PAD_": str(2**28)}


class Goal(NamedTuple):
    """A line of the table: gradsh's metric against another library's (or its own second metric), and the bound."""

    workload: str
    metric: str
    against: str
    bound: float
    unit: str = "ms"


GOALS = (
    Goal("small_chain", "forward", "torch", 0.9, "us"), Goal("small_chain", "backward", "torch", 0.45, "us"),
    Goal("branches", "forward", "torch", 0.7, "us"), Goal("branches", "backward", "torch", 0.35, "us"),
    Goal("long_chain", "forward", "torch", 1.0), Goal("long_chain", "backward", "torch", 0.7),
    Goal("long_chain", "drop", "torch", 2.0), Goal("long_chain", "bytes", "torch", 1.0, "B"),
    Goal("mlp", "step", "torch", 1.0), Goal("mlp", "step", "numpy", 1.1),
    Goal("elementwise", "step", "torch", 0.5), Goal("elementwise", "peak", "torch", 0.9, "MB"),
    Goal("products", "step", "of raw", 1 / 0.95), Goal("convolution", "step", "torch", 1.5),
    Goal("recurrent", "step", "torch", 1.0), Goal("penalty", "step", "torch", 1.0),
    Goal("deep", "freed", "torch", 0.6, "MB"), Goal("deep_retained", "retained", "torch", 0.7, "MB"),
    Goal("listing", "walk", "torch", 0.8),
)
SCALE = {"us": 1e6, "ms": 1e3, "B": 1.0, "MB": 1e-6}
ONCE = {"long_chain": 3, "deep": 1, "deep_retained": 1, "products": 5, "listing": 7, "elementwise": 9}
"""Repetitions of what takes long; what measures memory needs a fresh process."""


def measure(workload: str, libraries: tuple[str, ...], repetitions: int, raised: bool) -> dict[str, dict[str, float]]:
    """Return library -> metric -> median, the libraries taking turns."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    environment |= RAISED if raised else {}
    workers = {
        name: subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", name, workload], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=environment,
        )
        for name in libraries
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
    own = found.get("gradsh", {})
    mine = own.get(goal.metric)
    other = own.get(goal.against) if goal.against in own else found.get(goal.against, {}).get(goal.metric)
    shown = [f"{one * SCALE[goal.unit]:9.2f}" if one is not None else "        -" for one in (mine, other)]
    if mine is None or not other:
        return f"{goal.workload:14} {goal.metric:9} {shown[0]} {shown[1]} {goal.unit:3} {goal.against:8} not measured"
    ratio = mine / other
    verdict = "" if ratio <= goal.bound else "  over"
    return (
        f"{goal.workload:14} {goal.metric:9} {shown[0]} {shown[1]} {goal.unit:3} {goal.against:8} "
        f"{ratio:5.2f} (goal {goal.bound:.2f}){verdict}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--raised", action="store_true", help="raise glibc's thresholds for every library")
    parser.add_argument("--repetitions", type=int, default=15)
    options = parser.parse_args()
    print(f"{'workload':14} {'metric':9} {'gradsh':>9} {'other':>9} {'':3} {'against':8} ratio")
    for workload in dict.fromkeys(goal.workload for goal in GOALS):
        if options.workloads and workload not in options.workloads:
            continue
        repetitions = min(options.repetitions, ONCE.get(workload, options.repetitions))
        found = measure(workload, LIBRARIES, repetitions if workload not in {"deep", "deep_retained"} else 0, options.raised)
        for goal in GOALS:
            if goal.workload == workload:
                print(row(goal, found), flush=True)
    if not options.workloads or set(options.workloads) & PROGRAMS:
        for line in measure_programs(options.repetitions, set(options.workloads)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
