"""`gradsh trace`: runs a Python program on PyTorch, and explains its failures.

The program's output and exit status are its own. A diagnosis goes to standard error, before Python's traceback; with
`--format json` standard output holds events, what the program prints among them.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from gradsh.contracts.events import Failure, Print
from gradsh.lens import missing
from gradsh.lens.program import PythonProgram, end_by_interrupt, show, strip
from gradsh.render.style import style_for
from gradsh.render.text import lines_of
from gradsh.run.sinks import JsonSink, TextSink
from gradsh.text.fix import difference
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span

USAGE = (
    "usage: gradsh trace [--keep-going] [--format text|json] [--summary] [--report FILE] [--no-writes] [--plain] [--fix] [-i] "
    "PROGRAM.py|-m MODULE [ARGS...]\n"
)
_HELP = """
Runs a Python program on PyTorch, as python would, and explains a failed backward before Python's traceback.

  --keep-going         Continue with the next top-level statement after a failed one.
  --format text|json   Output format; json: one event per line, and the state of the variables at the end.
  --summary            Print a summary at the end: backwards, bytes saved by line and module, the peak, growing graphs.
  --report FILE        Write a report: a page to look at (.html), or its data as JSON; under torchrun, of all ranks.
  --no-writes          Do not record in-place writes: faster, but a failure does not show their lines.
  --plain              No colour, ASCII instead of box drawing.
  --fix                Show the best fix of each failure as a diff. Runs the program again without its output; writes no file.
  -i                   Stop at the first failure and open gradsh's shell with the program's variables.
  -m MODULE            Run a module, as python -m does.
"""


class Options(NamedTuple):
    """What the command line asks for; `program` is a file, or a module where `module` is set."""

    program: str
    arguments: tuple[str, ...]
    module: bool = False
    keep_going: bool = False
    format: str = "text"
    summary: bool = False
    report: str | None = None
    writes: bool = True
    plain: bool = False
    interactive: bool = False
    fix: bool = False

    @property
    def detailed(self) -> bool:
        """Whether it is measured what saved how much."""
        return self.summary or self.report is not None


_FLAGS = {
    "--keep-going": ("keep_going", True), "--summary": ("summary", True), "--no-writes": ("writes", False),
    "--plain": ("plain", True), "-i": ("interactive", True), "--fix": ("fix", True),
}


def parse(words: list[str]) -> Options | str:
    """Return the options, or a sentence that says what is wrong with them."""
    given: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, sep, value = word.partition("=")
        if word in _FLAGS:
            key, setting = _FLAGS[word]
            given[key] = setting
        elif name == "--format" and (sep or rest):
            given["format"] = value if sep else rest.pop(0)
            if given["format"] not in {"text", "json"}:
                return f"--format takes text or json, not {given['format']!r}"
        elif name == "--report" and (sep or rest):
            given["report"] = value if sep else rest.pop(0)
        elif word == "-m" and rest:
            return Options(rest[0], tuple(rest[1:]), True, **given)
        elif word.startswith("-") and word != "-":
            return f"there is no option {word} (write the options of the program after its name)"
        else:
            return Options(word, tuple(rest), **given)
    return "name a program to run"


def main(words: list[str]) -> int:
    """Run `gradsh trace` with these arguments; return the exit status (the program's own SystemExit passes through)."""
    if words[:1] in (["-h"], ["--help"]):
        sys.stdout.write(USAGE + _HELP)
        return 0
    options = parse(words)
    if isinstance(options, str):
        sys.stderr.write(f"{USAGE}gradsh: {options}\n")
        return 2
    if lacking := missing():
        sys.stderr.write(f"gradsh: {lacking}\n")
        return 2
    try:
        program = PythonProgram(options.program, list(options.arguments), module=options.module)
        text = program.read()
    except (OSError, ImportError) as error:
        sys.stderr.write(f"gradsh: cannot open {options.program}: {getattr(error, 'strerror', None) or error}\n")
        return 2
    if options.report is not None and (wrong := unwritable(options.report)):
        sys.stderr.write(f"gradsh: cannot write the report {options.report}: {wrong}\n")
        return 2
    return _Trace(options, program).run(text)


def unwritable(name: str) -> str:
    """Say why a file cannot be written, as far as that can be known beforehand, or nothing."""
    path = Path(name)
    if path.is_dir():
        return "Is a directory"
    if not path.parent.is_dir():
        return "No such file or directory"
    return "" if os.access(path if path.exists() else path.parent, os.W_OK) else "Permission denied"


class _Trace:
    """One run of a program under a watcher."""

    def __init__(self, options: Options, program: Any) -> None:
        from gradsh.lens import api
        from gradsh.lens.ranks import Report, rank
        from gradsh.lens.streams import ranked

        self.options = options
        self.program = program
        self.watcher = api.start(writes=options.writes, modules=options.detailed or options.interactive, joins=False)
        self.watcher.files.own.add(program.file)
        self.watcher.passes.detailed = options.detailed
        self.report = Report(options.report) if options.detailed else None
        self.recorder: Any = None
        if options.report is not None:
            from gradsh.lens.recorder import TraceRecorder

            self.recorder = TraceRecorder(self.watcher, vars(program.main))
        self.failed = ""
        self.out = sys.stdout
        self.err = ranked(sys.stderr)
        style = style_for(sys.stderr, plain=options.plain)
        self.sink = JsonSink(self.out, sys.stderr, None) if self.as_json else TextSink(self.out, self.err, style, style)
        if isinstance(self.sink, JsonSink) and rank() is not None:
            self.sink.mark = f',"rank":{rank()}'
        self.status = 0
        self.begun = time.monotonic()

    @property
    def as_json(self) -> bool:
        """Whether standard output holds events."""
        return self.options.format == "json"

    def run(self, text: bytes) -> int:
        """Run the program; return the exit status."""
        if self.as_json:
            from gradsh.lens.streams import Printed

            sys.stdout = Printed(lambda text: self.sink(Print(text, False)))
        threads, threading.excepthook = threading.excepthook, self._in_thread(threading.excepthook)
        try:
            if self.options.keep_going:
                self._run_statements(text)
            else:
                self._run_whole(text)
        finally:
            self._finish()
            if getattr(threading.excepthook, "gradsh", False):
                threading.excepthook = threads
        return self.status

    def _in_thread(self, shown: Any) -> Any:
        """Return what tells the story of an exception that ends a thread before it is shown."""
        def told(failure: Any) -> None:
            if failure.exc_value is not None:
                self._tell(failure.exc_value, None)
                strip(failure.exc_value)
                failure = threading.ExceptHookArgs((failure.exc_type, failure.exc_value, failure.exc_value.__traceback__, failure.thread))
            shown(failure)

        told.gradsh = True  # type: ignore[attr-defined]
        return told

    def _run_whole(self, text: bytes) -> None:
        try:
            self.program.run(text)
        except SystemExit:
            raise
        except BaseException as error:  # noqa: BLE001  # whatever the program raises is shown as Python shows it
            self.status = 1
            self._tell(error, None)
            show(error)
            if isinstance(error, KeyboardInterrupt):
                self._finish()
                end_by_interrupt()

    def _run_statements(self, text: bytes) -> None:
        try:
            for line, code in self.program.statements(text):
                ok = True
                try:
                    exec(code, self.program.main.__dict__)
                except (SystemExit, KeyboardInterrupt):
                    raise
                except BaseException as error:  # noqa: BLE001  # it is told, and the next statement runs
                    self.status, ok = 1, False
                    self._tell(error, line)
                    if not self.as_json:
                        show(error)
                if self.recorder is not None:
                    self.recorder.ended(line, ok=ok)
        except SyntaxError as error:
            self.status = 1
            self._tell_syntax(error)

    def _tell(self, error: BaseException, top: int | None) -> None:
        """Tell the story of a failure; with text, of autograd's failures only."""
        self.failed = self.failed or f"{type(error).__name__}: {str(error).partition('. ')[0][:80]}"
        from gradsh.diagnosis.classify import kind_of
        from gradsh.diagnosis.explain_graph import GRAPH_STORIES
        from gradsh.lens.diagnose import told

        if isinstance(error, SyntaxError | NameError) and not self.as_json and self.options.program.endswith(".grad"):
            self.err.write(f"  help: `gradsh run --engine torch {self.options.program}` runs a script of gradsh's on PyTorch\n")
        if isinstance(error, SyntaxError):
            self._tell_syntax(error)
        elif self.as_json or kind_of(error) in GRAPH_STORIES:
            sys.stdout.flush()
            failed = told(self.watcher, error, top)
            self.sink(Failure(failed.line, failed.top, failed.problem, failed.source))
            if self.recorder is not None:
                self.recorder.fail(Failure(failed.line, failed.top, failed.problem, failed.source))
            if self.options.fix and not self.as_json:
                self._show_fix(failed.problem)
            elif not self.as_json and any(fix.edits for fix in failed.problem.fixes):
                self.err.write("  note: these fixes were not tried; --fix runs the program again with each, and shows one that works\n")
            if self.options.interactive:
                self._prompt(error)

    def _show_fix(self, problem: Any) -> None:
        """Show the best edit as a diff of each file that it changes."""
        import linecache

        from gradsh.commands.fix import Report, view
        from gradsh.lens.trying import in_order

        options = self.options
        fixes = in_order(
            problem.fixes, self.program.file, options.program, options.arguments, module=options.module,
            seconds=time.monotonic() - self.begun,
        )
        if not fixes:
            edits = any(fix.edits for fix in problem.fixes)
            self.err.write(f"no edit {'that was tried lets the program run to its end' if edits else 'of the program is known to help'}\n")
            return
        diff: list[str] = []
        for file in dict.fromkeys(edit.file for edit in fixes[0].edits):
            lines = [line.rstrip("\n") for line in linecache.getlines(file)]
            diff += [f"in {file}:"] * (file != self.program.file)
            diff += difference(lines, tuple(edit for edit in fixes[0].edits if edit.file == file))
        shown = view(Report(1, len(fixes), fixes[0].words, fixes[0].effect, fixes[0].tried, tuple(diff), ""))
        self.err.write("".join(f"{line}\n" for line in lines_of(shown, style_for(sys.stderr, plain=self.options.plain))))

    def _source(self) -> Any:
        """Return the program's own file as a source."""
        return Source(self.program.file, self.program.read().decode(errors="replace"))

    def _tell_syntax(self, error: SyntaxError) -> None:
        if not self.as_json:
            return
        line, column = error.lineno or 1, max(1, error.offset or 1)
        source = self._source()
        label = Label("needed", Span(line, column, line, column + 1), "", source)
        self.sink(Failure(line, line, Problem("syntax", f"SyntaxError: {error.msg}", (label,)), source))

    def _prompt(self, error: BaseException) -> None:
        from gradsh.lens.prompting import post_mortem

        post_mortem(error)

    def _finish(self) -> None:
        """Take the watcher away, and tell the state or the summary."""
        if not self.watcher.on:
            return
        from gradsh.lens import api
        from gradsh.lens.looks import state_of

        if self.as_json:
            sys.stdout.flush()
            sys.stdout = self.out
            self.sink(state_of(self.watcher, vars(self.program.main)))
            self.sink.close()
        if self.options.summary:
            from gradsh.lens.summary import write_summary

            write_summary(self.watcher, vars(self.program.main), self.err, plain=self.options.plain)
        if self.report is not None:
            self._report(self.report)
        api.stop()

    def _report(self, report: Any) -> None:
        """Write what was measured; the last of several processes shows all ranks."""
        with self.watcher.look() as world:
            names = world.module_paths(vars(self.program.main))
        try:
            run = {} if self.recorder is None else self.recorder.data(self.program.file, self._source())
            table = report.write(self.watcher, names, self.failed, run)
        except OSError as error:
            sys.stderr.write(f"gradsh: cannot write the report: {error.strerror or error}\n")
            return
        if table is not None and self.options.summary:
            lines = lines_of(table, style_for(sys.stderr, plain=self.options.plain))
            sys.stderr.write("".join(f"{line}\n" for line in ("--- gradsh, all ranks ---", *lines)))
            sys.stderr.flush()
