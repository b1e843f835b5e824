"""Runs several scripts, one after the other or in several processes, and says at the end how they went.

The order of the output is that of the files, however many processes run them.
"""

import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gradsh.process.signals import Raising
from gradsh.render.style import printable
from gradsh.run.progress import ProgressLine
from gradsh.run.read import Script, read_script
from gradsh.run.script import DONE, FAILED, INTERRUPTED, RunOptions, enclose, run_script, stuck
from gradsh.run.sinks import Looks, Sink, looks_of, sink_for
from gradsh.run.workers import Lost, answers, use_threads


class Ran(NamedTuple):
    """How a script went in its process: its exit status, what it wrote if it was to keep that, whether nobody reads on."""

    status: int
    out: str = ""
    err: str = ""
    broken: bool = False
    runs: tuple[Any, ...] = ()
    """What a report tells of it."""

    @classmethod
    def read(cls, told: Any) -> "Ran":
        """Make one of what came as JSON."""
        status, out, err, broken, runs = told
        return cls(int(status), str(out), str(err), bool(broken), tuple(runs))


class Task:
    """Runs a script in a process of its own, and writes what it shows, or keeps it."""

    def __init__(self, options: RunOptions, looks: Looks) -> None:
        self.options = options
        self.looks = looks

    def __call__(self, script: Script) -> Ran:
        """Run the script."""
        if self.options.report is not None:
            self.options.report.runs.clear()  # those of scripts before, which the parent has
        if not script.unreadable:
            enclose(self.options, script)
        if self.options.jobs > 1:
            out, err = io.StringIO(), io.StringIO()
            status = run_script(script, self.options, sink_for(self.looks, script.name, out, err))
            return Ran(status, out.getvalue(), err.getvalue(), runs=self._runs())
        sink = sink_for(self.looks, script.name, sys.stdout, sys.stderr)
        status = run_script(script, self.options, sink)
        return Ran(max(status, sink.close()), broken=bool(sink.broken), runs=self._runs())

    def _runs(self) -> tuple[object, ...]:
        return () if self.options.report is None else tuple(self.options.report.runs)


def run_many(options: RunOptions) -> int:
    """Run the scripts; return the worst exit status."""
    looks = looks_of(options.format, plain=options.plain, several=True)
    sink = sink_for(looks, "", sys.stdout, sys.stderr)
    progress = ProgressLine(len(options.files), plain=options.plain)
    statuses: list[int] = []
    if options.jobs > 1:
        use_threads(1, unless_set=True)
    try:
        with Raising():
            for ran in outcomes(_read(options.files, progress), options, looks, sink, progress):
                statuses.append(ran.status)
                if options.report is not None:
                    options.report.runs += ran.runs
                progress.step(failed=ran.status != DONE)
                if sink.broken or ran.broken or ran.status == INTERRUPTED or (ran.status != DONE and options.fail_fast):
                    break
    except KeyboardInterrupt:
        statuses.append(INTERRUPTED)
    progress.clear()
    closed = sink.close()
    if options.report is not None:
        closed = max(closed, options.report.write())
    if options.format == "text" and not sink.broken:
        failed = [name for name, status in zip(options.files, statuses, strict=False) if status != DONE]
        sys.stderr.write(f"failed: {', '.join(map(printable, failed))}\n" * bool(failed))
        sys.stderr.write(summary(statuses, len(options.files)) + "\n")
    return max(DONE, closed, *statuses)


def _read(names: Sequence[str], progress: ProgressLine) -> Iterator[Script]:
    for name in names:
        progress.clear()  # what the script shows comes next
        yield read_script(name)


def outcomes(
    scripts: Iterator[Script], options: RunOptions, looks: Looks, sink: Sink, progress: ProgressLine | None = None
) -> Iterator[Ran]:
    """Run the scripts in processes of their own, show what they wrote in their order, and yield how each went."""
    task = Task(options, looks)
    ran: Ran | Lost
    for script, ran in answers(
        task, scripts, options.jobs, read=Ran.read, seconds=options.limits.timeout, forward=options.jobs <= 1
    ):
        if progress is not None:
            progress.clear()
        if not isinstance(ran, Lost):
            sink.relay(ran.out, ran.err)
            yield ran
            continue
        own = sink_for(looks, script.name, sys.stdout, sys.stderr)
        own(stuck(script.name, script.text, ran.line, ran.reason))
        yield Ran(INTERRUPTED if ran.interrupted else max(FAILED, own.close()))


def summary(statuses: list[int], total: int) -> str:
    """Return the sentence about how the scripts went."""
    failed = sum(status != DONE for status in statuses)
    parts = [f"{len(statuses) - failed} done", f"{failed} failed" if failed else "",
             f"{total - len(statuses)} not run" if len(statuses) < total else ""]
    return f"{total} scripts: {', '.join(part for part in parts if part)}"
