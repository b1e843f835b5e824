"""Runs several scripts, one after the other or in several processes, and says at the end how they went.

The order of the output is that of the files, however many processes run them.
"""

import io
import sys
from collections.abc import Iterator
from typing import NamedTuple

from gradsh.contracts.events import Failure
from gradsh.process.limits import bound_memory
from gradsh.process.signals import Raising
from gradsh.run.progress import Progress
from gradsh.run.script import DONE, FAILED, INTERRUPTED, RunOptions, read_script, run_script
from gradsh.run.sinks import Looks, Sink, looks_of, sink_for
from gradsh.text.problem import Problem
from gradsh.text.span import Source


class Ran(NamedTuple):
    """How a script went in another process: its exit status, and what it wrote."""

    status: int
    out: str
    err: str


class Task:
    """Runs a script and keeps what it writes; a class, since it is sent to other processes."""

    def __init__(self, options: RunOptions, looks: Looks) -> None:
        self.options = options
        self.looks = looks

    def __call__(self, name: str) -> Ran:
        """Run the script of that name."""
        bound_memory(self.options.limits.max_memory)
        out, err = io.StringIO(), io.StringIO()
        status = run_script(read_script(name), self.options, sink_for(self.looks, name, out, err))
        return Ran(status, out.getvalue(), err.getvalue())


def run_many(options: RunOptions) -> int:
    """Run the scripts; return the worst exit status."""
    looks = looks_of(options.format, plain=options.plain, several=True)
    sink = sink_for(looks, None, sys.stdout, sys.stderr)
    progress = Progress(len(options.files), plain=options.plain)
    statuses: list[int] = []
    try:
        with Raising():
            for status in _statuses(options, looks, sink, progress):
                statuses.append(status)
                progress.step(failed=status != DONE)
                if sink.broken or status == INTERRUPTED or (status != DONE and options.fail_fast):
                    break
    except KeyboardInterrupt:
        statuses.append(INTERRUPTED)
    progress.clear()
    closed = sink.close()
    if options.format == "text" and not sink.broken:
        sys.stderr.write(summary(statuses, len(options.files)) + "\n")
    return max(DONE, closed, *statuses)


def _statuses(options: RunOptions, looks: Looks, sink: Sink, progress: Progress) -> Iterator[int]:
    if options.jobs <= 1:
        for name in options.files:
            mine = sink_for(looks, name, sys.stdout, sys.stderr)
            progress.clear()
            status = run_script(read_script(name), options, mine)
            yield max(status, mine.close())
            if mine.broken:
                sink.broken = mine.broken
        return
    from gradsh.run.workers import Lost, answers

    for name, ran in zip(options.files, answers(Task(options, looks), options.files, options.jobs), strict=False):
        progress.clear()
        if isinstance(ran, Lost):
            own = sink_for(looks, name, sys.stdout, sys.stderr)
            own(Failure(ran.line, ran.line, Problem("limit", ran.reason), Source(name, "")))
            yield max(FAILED, own.close())
            continue
        sink.relay(ran.out, ran.err)
        yield ran.status


def summary(statuses: list[int], total: int) -> str:
    """Return the sentence about how the scripts went."""
    failed = sum(status != DONE for status in statuses)
    parts = [f"{len(statuses) - failed} done", f"{failed} failed" if failed else "",
             f"{total - len(statuses)} not run" if len(statuses) < total else ""]
    return f"{total} scripts: {', '.join(part for part in parts if part)}"
