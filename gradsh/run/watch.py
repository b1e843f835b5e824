"""`gradsh watch FILE`: runs a script again whenever its file changes."""

import sys
import time
from pathlib import Path

from gradsh.process.signals import Raising
from gradsh.run.read import read_script
from gradsh.run.script import INTERRUPTED, RunOptions
from gradsh.run.scripts import outcomes
from gradsh.run.sinks import Looks, looks_of, sink_for

POLL_SECONDS = 0.2
Stamp = tuple[int, int, int]


def watch(options: RunOptions, *, rounds: int | None = None) -> int:
    """Run the script now and after each change, until Ctrl-C (or `rounds` runs); return the exit status."""
    name = options.files[0]
    looks = looks_of(options.format, plain=options.plain, several=False)
    try:
        with Raising():
            return _watch(name, looks, options, rounds)
    except KeyboardInterrupt:
        return INTERRUPTED


def _watch(name: str, looks: Looks, options: RunOptions, rounds: int | None) -> int:
    run = 0
    while True:
        seen = stamp(name)
        if looks.out.colour and looks.out.width is not None:
            sys.stdout.write("\x1b[2J\x1b[H")
        sink = sink_for(looks, name, sys.stdout, sys.stderr)
        (ran,) = outcomes(iter((read_script(name),)), options, looks, sink)
        status = ran.status
        run += 1
        if status == INTERRUPTED or ran.broken or run == rounds:
            return status
        sys.stderr.write(f"-- {name} ended with status {status}; waiting for a change; Ctrl-C quits\n")
        sys.stderr.flush()
        while stamp(name) == seen:
            time.sleep(POLL_SECONDS)


def stamp(name: str) -> Stamp:
    """Return what changes when the file is written or replaced; zeros while it is not there."""
    try:
        found = Path(name).stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
