"""Runs scripts without a terminal's help: files, `-c CODE` and standard input, by one contract.

Output goes to standard output, diagnostics to standard error; no banner, prompt or colour unless a terminal is there.
A script ends at its first failed statement unless told to go on. Exit status: 0 done, 1 a statement failed, 2 a script
that cannot be read, 130 interrupted.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from gradsh.compiler.scopes import is_python
from gradsh.contracts.events import Emit, Failure
from gradsh.language.paste import clean
from gradsh.process import sandbox
from gradsh.process.gc_policy import govern
from gradsh.process.lean_numpy import import_numpy
from gradsh.process.limits import UNBOUNDED, Limits, bound_memory, grow_stack
from gradsh.process.malloc import keep_memory
from gradsh.process.sandbox import lacking
from gradsh.process.signals import answer, is_importing
from gradsh.render.style import style_for
from gradsh.run.modules_beside import modules_beside
from gradsh.run.read import Script, code_script, read_script
from gradsh.run.sinks import looks_of, sink_for
from gradsh.text.fault import interruption
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span
from gradsh.text.tuples import NamedTuple

if TYPE_CHECKING:
    from gradsh.report.page import ReportFile
    from gradsh.run.profile import ProfileOptions
    from gradsh.run.sinks import Sink
    from gradsh.session.session import Session

SUBCOMMANDS = ("run", "debug", "test", "review", "explain", "check", "fix", "watch", "trace", "export", "compare", "kernel")
"""The words that stand for no script behind `gradsh`."""
DONE, FAILED, UNREADABLE, INTERRUPTED = 0, 1, 2, 130


class RunOptions(NamedTuple):
    """What the command line says about a run. `seed` None: another one each time; `code` stands in for files."""

    files: tuple[str, ...] = ()
    code: str | None = None
    keep_going: bool = False
    format: str = "text"
    seed: int | None = 0
    plain: bool = False
    limits: Limits = UNBOUNDED
    jobs: int = 1
    fail_fast: bool = False
    values: tuple[tuple[str, str], ...] = ()
    profile: "ProfileOptions | None" = None
    hints: bool = False
    arguments: str = ""
    """What the script finds in `sys.argv`, as one text that is split as a shell splits it."""
    cuda: str = "explain"
    """What asking for a GPU does: `explain`, or `ignore` to go on as if there were one."""
    path: tuple[str, ...] = ()
    """Folders besides the script's own in which its imports find modules."""
    report: "ReportFile | None" = None
    """The file to which a report of the run is written."""
    owns_process: bool = True
    """Whether this process may be ended when a script can not be stopped."""
    stays: bool = False
    """Whether the shell opens after the scripts, with their state."""
    stepped: bool = False
    """Whether the shell runs them statement by statement."""
    top: bool = False
    """Whether samples of the running script are shown."""


def prepare() -> None:
    """Set the process up for tensors: freed memory is kept, garbage looked for when memory grows; streams refuse no character."""
    keep_memory()
    govern()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def collect_again() -> None:
    """Start the collector that the program's entry has stopped, sparing it what was imported by then."""
    import gc

    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def refused(options: RunOptions) -> bool:
    """Say what is wrong with the values of `--set` and `--path` or why no sandbox can be had, if so; nothing is run then."""
    wrong = (_wrong_values(options) if options.values else "") or no_folder(options.path) or no_sandbox(options.limits.sandbox)
    if wrong:
        sys.stderr.write(f"gradsh run: {wrong}\n")
    return bool(wrong)


def no_folder(path: tuple[str, ...]) -> str:
    """Say which folder of `--path` does not exist, or nothing."""
    import os

    missing = next((folder for folder in path if not os.path.isdir(folder)), "")  # noqa: PTH112
    return missing and f"--path {missing}: no such folder"


def no_sandbox(mode: str) -> str:
    """Say why the sandbox that was insisted on cannot be had here, or nothing."""
    if mode != "on":
        return ""
    missing = " and ".join(lacking())
    return missing and f"--sandbox on: this system has no {missing}; --sandbox auto takes what there is"


def enclose(options: RunOptions, script: Script) -> None:
    """Bound this process for the script that it is going to run: its memory, and what it may reach, for good."""
    import_numpy()
    import gradsh.session.session  # noqa: F401  # behind the wall, an import takes longer

    limits = options.limits
    if limits.max_memory is not None:
        grow_stack()
    if limits.sandbox != "off":
        if limits.timeout is not None:
            from gradsh.process.watchdog_process import guardian

            guardian()  # behind the wall, no process can be started
        writable = (limits.allow_files,) if limits.allow_files else ()
        sandbox.enter(writable, limits.timeout, readable=modules_beside(script.name, script.text, options.path))
    bound_memory(limits.max_memory)


def run(options: RunOptions, make: "Callable[..., Session] | None" = None) -> int:
    """Run the one script that the options name; return the exit status. `make` makes the session."""
    script = scripts_of(options)[0]
    sink = sink_for(looks_of(options.format, plain=options.plain, several=False), script.name, sys.stdout, sys.stderr)
    if options.report is not None:
        options.report.keep_open()
    if options.profile is not None and options.profile.flame >= 0:
        sandbox.keep(options.profile.flame)
    if not script.unreadable:
        enclose(options, script)
    status = max(run_script(script, options, sink, make), sink.close())
    return status if options.report is None else max(status, options.report.write())


def scripts_of(options: RunOptions) -> Sequence[Script]:
    """Return the scripts to run: the code given, the files, or standard input."""
    if options.code is not None:
        return (code_script(options.code),)
    return tuple(read_script(name) for name in options.files or ("-",))


def run_script(script: Script, options: RunOptions, sink: "Sink", make: "Callable[..., Session] | None" = None) -> int:
    """Run one script in a session of its own (`make` may make another kind), telling `sink`; return its exit status."""
    if script.unreadable:
        sink(unreadable(script))
        return UNREADABLE
    from gradsh.session.session import Session

    collect_again()
    session = (make or Session)(options.seed, limits=options.limits)
    sink.when_broken = session.abandon
    furnish(session, script, options)
    session.as_json = options.format == "json"
    session.state.settings.values["hints"] = options.hints
    session.when_stuck = lambda line, reason: end_stuck(script.name, script.text, line, reason, sink)
    profiler, watching = _profiler(session, options)
    interrupts = Interruptible(session)
    with interrupts, watching, _watched(session, options, sink) as shown, recorded(session, script, options, shown) as emit:
        outcome = session.run(
            script.text, emit, name=script.name, keep_going=options.keep_going, values=dict(options.values)
        )
        if is_python(unit.stmt for unit in session.machine.units.all() if unit.source.name == script.name):
            from gradsh.run.unimported import after_run

            if told := after_run(session.machine):
                emit(told)
    if profiler is not None:
        sink(profiler.result(script.name))
    status = INTERRUPTED if outcome.interrupted or interrupts.late else outcome.status
    return max(status, _tell_state(session, script, sink)) if sink.wants_state else status


@contextmanager
def recorded(session: "Session", script: Script, options: RunOptions, emit: Emit) -> Iterator[Emit]:
    """Record what a session does within the block for the report that the options ask for."""
    if options.report is None:
        yield emit
        return
    from gradsh.report.recorder import SessionRecorder

    source = Source(script.name, script.text)
    with session.recorder(source, emit) if session.recorder else SessionRecorder(session, source, emit) as recorder:
        yield recorder
    options.report.add(script.name, recorder.data())


def furnish(session: "Session", script: Script, options: RunOptions) -> None:
    """Give a session what a script finds around it: its arguments, the modules beside it, the answer to who asks for a GPU."""
    session.plain = options.plain
    session.machine.take_arguments(script.name, _split(options.arguments))
    if options.cuda != "explain":
        session.ambient.flags["cuda"] = session.state.settings.values["cuda"] = options.cuda
    session.machine.read_module = module_reader(script, options.path)


def module_reader(script: Script, path: tuple[str, ...] = ()) -> "Callable[[str], Source | None] | None":
    """Return what finds modules below a script's folder, then below those of `path`, by their path without `.py`; None: no folder."""
    import os

    folders = path if script.name.startswith("<") else (os.path.dirname(script.name), *path)  # noqa: PTH120
    if not folders:
        return None
    known: dict[str, Source | None] = {}

    def read(place: str) -> Source | None:
        if place not in known:
            known[place] = next(filter(None, (find(folder, place) for folder in folders)), None)
        return known[place]

    def find(folder: str, place: str) -> Source | None:
        inside = os.path.realpath(folder or ".") + "/"
        for name in (f"{place}.py", f"{place}/__init__.py"):
            path = os.path.join(folder, name)  # noqa: PTH118
            if os.path.isfile(path) and os.path.realpath(path).startswith(inside):  # noqa: PTH113
                found = read_script(path)
                return None if found.unreadable else Source(path, clean(found.text)[0])
        whole = os.path.join(folder, place)  # noqa: PTH118
        return Source(f"{whole}/", "") if os.path.isdir(whole) and not os.path.islink(whole) else None  # noqa: PTH112, PTH114

    return read


def _split(text: str) -> list[str]:
    """Split a text into words as a shell does."""
    if not text:
        return []
    import shlex

    return shlex.split(text)


def _tell_state(session: "Session", script: Script, sink: "Sink") -> int:
    """Tell the state at the end, or that it is too large to be told; return the exit status that this asks for."""
    try:
        sink(session.snapshot())
    except MemoryError as error:
        reason = str(error) or "out of memory while writing the state"
        sink(Failure(0, 0, Problem("limit", reason), Source(script.name, "")))
        return FAILED
    return DONE


_parents: list[Callable[[int, str], None]] = []


def report_to(parent: Callable[[int, str], None]) -> None:
    """Say that this process works for another one, which is to be told (line, reason) before `end_stuck` ends this one."""
    _parents[:] = [parent]


def end_stuck(name: str, text: str, line: int, reason: str, sink: "Sink | None" = None) -> None:
    """End the process, saying why: a script is in a call that nothing can stop (one huge product, an endless iterator in C)."""
    import os

    try:
        if _parents:
            _parents[0](line, reason)
        elif sink is not None:
            sink(stuck(name, text, line, reason))
            sink.close()
        else:
            sys.stderr.write(f"error[limit]: {reason}\n  {name}:{line}\n")
            sys.stdout.flush()
    finally:
        os._exit(FAILED)


def stuck(name: str, text: str, line: int, reason: str) -> Failure:
    """Return the failure of a script that was ended from outside, in the statement of that line (0: before the first)."""
    source = Source(name, text)
    labels = (Label("needed", Span(line, 1, line, len(source.line(line)) + 1), "", source),) if line else ()
    return Failure(line, line, Problem("limit", reason, labels), source)


def _watched(session: "Session", options: RunOptions, sink: "Sink") -> Any:
    """Return what shows samples of the session, where the options ask for that, and gives what takes its events."""
    if not options.top:
        return nullcontext(sink)
    from gradsh.run.top import watched

    return watched(session, sink, plain=options.plain)


def _profiler(session: "Session", options: RunOptions) -> tuple[Any, Any]:
    if options.profile is None:
        return None, nullcontext()
    from gradsh.run.profile import Profiler

    profiler = Profiler(session.machine, session.ambient, session.line_of, options.profile)
    return profiler, profiler.watching()


class Interruptible:
    """A block in which Ctrl-C ends the script at its next safe point; a second one ends it wherever it is.

    `late` after the block: one came, and no safe point was left for it.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._asked = self.late = False

    def __enter__(self) -> "Interruptible":
        self._before = answer(self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:  # None: not the main thread, and whoever owns that answers interrupts
            answer(self._before)
        self.late = self._session.machine.clear_interrupt()  # it is none of the next text

    def _on_interrupt(self, _number: int, frame: object) -> None:
        if self._asked and not is_importing(frame):
            raise interruption()
        self._asked = True
        self._session.interrupt()


def unreadable(script: Script) -> Failure:
    """Return the failure of a script that cannot be read."""
    message = f"cannot read {script.name}: {script.unreadable}"
    return Failure(0, 0, Problem("io", message, (), _subcommand_meant(script.name)), Source(script.name, ""))


def _subcommand_meant(name: str) -> tuple[str, ...]:
    """Say which subcommand was meant by a name that is no file's."""
    if not name.isalpha():
        return ()
    from difflib import get_close_matches

    near = get_close_matches(name, SUBCOMMANDS, 1)
    return (f"did you mean `gradsh {near[0]}`?",) if near else ()


def _wrong_values(options: RunOptions) -> str:
    """Say what is wrong with the values of `--set`, or nothing."""
    from gradsh.session.parameters import parameters_in, wrong_values

    scripts = [read_script(name) for name in options.files] if options.code is None else scripts_of(options)
    known = [parameter for script in scripts for parameter in parameters_in(script.name, script.text)]
    return wrong_values(known, dict(options.values))


def list_parameters(options: RunOptions) -> int:
    """Print the parameters of each script (`--params`); return the exit status."""
    from gradsh.render.json import plain
    from gradsh.render.table import draw
    from gradsh.session.parameters import parameter_table, parameters_in

    status = DONE
    several = len(options.files) > 1
    for script in scripts_of(options):
        if script.unreadable:
            sys.stderr.write(f"error[io]: {unreadable(script).problem.message}\n")
            status = UNREADABLE
            continue
        found = parameters_in(script.name, script.text)
        if options.format == "json":
            _print_json({"event": "parameter", **plain(one), "file": script.name} for one in found)
            continue
        lines = draw(parameter_table(found), style_for(sys.stdout, plain=options.plain))
        sys.stdout.write("".join(line + "\n" for line in ([f"{script.name}:"] if several else []) + lines))
    return status


def _print_json(rows: Iterator[Mapping[str, object]]) -> None:
    import json

    sys.stdout.write("".join(json.dumps(row) + "\n" for row in rows))
