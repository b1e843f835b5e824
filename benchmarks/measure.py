"""What is measured inside a worker: CPU time of a block, resident memory now and at its peak."""

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

from gradsh.process.malloc import give_back

Metrics = dict[str, float]
"""What one repetition measured, by metric: seconds (or bytes, or a plain ratio)."""


def seconds(action: Callable[[], object]) -> float:
    """CPU seconds that a call takes on one thread; where a process has several, seconds by the clock."""
    clock = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
    begun = clock()
    action()
    return clock() - begun


def status(field: str) -> int:
    """A field of /proc/self/status in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def peak_above(action: Callable[[], object]) -> float:
    """Bytes by which resident memory at its peak during a call is above what it was before.

    What the process has freed and keeps is given back first: memory that a call takes from there would not be seen.
    """
    gc.collect()
    give_back()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = status("VmRSS")
    action()
    return float(status("VmHWM") - before)
