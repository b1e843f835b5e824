"""A process that runs one workload with one library, a repetition for each line it reads."""

import importlib.util
import json
import sys
from typing import Any

from benchmarks.layers import LAYERS
from benchmarks.others import OTHERS
from benchmarks.workloads import WORKLOADS, Run


def library(name: str) -> Any:
    """Return the module, set up as its program is: gradsh as its own runner does, or as it is imported (`library`)."""
    if name == "torch":
        import torch

        return torch
    import gradsh
    from gradsh.run.script import prepare

    if name == "gradsh":
        prepare()
    return gradsh


def prepared(name: str, workload: str) -> Run | None:
    """Return what runs the workload, or None where that library is missing or cannot do it."""
    if name in {"numpy", "autograd"}:
        make = OTHERS.get((name, workload))
        return None if make is None or importlib.util.find_spec(name) is None else make()
    if name == "torch" and importlib.util.find_spec(name) is None:
        return None
    return (WORKLOADS | LAYERS)[workload](library(name))


def main() -> None:
    name, workload = sys.argv[1:]
    run = prepared(name, workload)
    print("ready" if run is not None else "absent", flush=True)
    for line in sys.stdin:
        if run is not None:
            print(json.dumps(run(line.strip() == "first")), flush=True)


if __name__ == "__main__":
    main()
