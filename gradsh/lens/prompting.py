"""A prompt over a program that has stopped: gradsh's commands and Python's statements over a frame's variables."""

import code
import sys
import traceback
from typing import Any

from gradsh.lens import api
from gradsh.lens.looks import is_command, run_line
from gradsh.lens.machine import variables_of
from gradsh.text.problem import ProblemError

_BANNER = "gradsh: commands (graph, buffers, plan, why, holders, memory, leaks, vars) and Python; Ctrl-D or `c` continues"


class Prompt(code.InteractiveConsole):
    """A console over one frame. What is bound at it is seen by what is typed after it."""

    def __init__(self, frame: Any) -> None:
        super().__init__({**frame.f_globals, **variables_of(frame)}, "<gradsh line>")
        self.frame = frame
        self.stopped_by = sys.exception()

    def showtraceback(self) -> None:
        """Show the traceback of what was typed, without that of the failure at which the program stopped."""
        error = sys.exception()
        while error is not None:
            if error.__context__ is self.stopped_by:
                error.__context__ = None
            error = error.__context__
        super().showtraceback()

    def push(self, line: str, *arguments: object, **more: object) -> bool:
        """Run a line: a command of gradsh's, or Python."""
        if not self.buffer and line.strip() in {"c", "cont", "continue", "quit", "exit"}:
            raise SystemExit
        if not self.buffer and is_command(line, self._bound()):
            self._command(line)
            return False
        return super().push(line, *arguments, **more)

    def _bound(self) -> dict[str, object]:
        return {name: value for name, value in self.locals.items() if not name.startswith("__")}

    def _command(self, line: str) -> None:
        try:
            print(run_line(api.watcher(), line, self._bound(), self.frame))  # noqa: T201
        except ProblemError as error:
            self.write(f"{error.problem.message}\n")
        except Exception as error:  # noqa: BLE001  # an expression that a person typed may fail in any way
            self.write("".join(traceback.format_exception_only(error)))


def _talk(frame: object) -> None:
    log = api.watcher().lines.log()
    log.muted = trace = sys.gettrace()
    sys.settrace(None)
    try:
        Prompt(frame).interact(_BANNER, "")
    except SystemExit:
        pass
    finally:
        log.muted = None
        sys.settrace(trace)


def prompt(*_: object, **__: object) -> None:
    """Stop here with the prompt over the caller's variables: what `PYTHONBREAKPOINT=gradsh.lens.prompt` makes of breakpoint()."""
    frame = sys._getframe(1)
    _talk(frame)


def post_mortem(error: BaseException) -> None:
    """Stop with the prompt over the variables of the user's innermost frame that an exception passed."""
    found, trace = None, error.__traceback__
    files = api.watcher().files
    while trace is not None:
        if files.is_own(trace.tb_frame.f_code.co_filename):
            found = trace.tb_frame
        trace = trace.tb_next
    if found is not None:
        _talk(found)


