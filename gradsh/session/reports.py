"""What the machine reports while a program runs, as events: prints, values, warnings, commands; and the bound on output."""

from contextlib import suppress
from typing import Any

from gradsh.commands import find
from gradsh.commands.usage import formats_of
from gradsh.contracts.events import ErrorOutput, Print, Result, Value
from gradsh.contracts.state import CommandCall
from gradsh.diagnosis.classify import words_of
from gradsh.language.node import stmt
from gradsh.process.pace import Pace, keeping
from gradsh.runtime.machine import Invocation
from gradsh.session.control import Controls
from gradsh.text.fault import fail
from gradsh.text.span import text_of

ENDINGS = {"svg": "svg", "png": "png", "dot": "dot", "gv": "dot", "mmd": "mermaid", "json": "json"}
"""Formats that the name of an `--output` file asks for, where `--format` does not."""


class Reports(Controls):
    """A session as the machine sees it."""

    _printed = 0
    _command_only = True
    """Whether the statement that runs is a command and nothing else."""

    def spend(self, characters: int) -> bool:
        """Count what is shown; where it is more than may be, end the script at its next step and return False."""
        self._printed += characters
        most = self.limits.max_output
        if most and self._printed > most:
            self.exhausted = True
            self.machine.stop(f"the output is larger than --max-output allows ({most:,} bytes)")
            return False
        return True

    def _spend(self, characters: int) -> None:
        if not self.spend(characters):
            self.machine.check()

    def _on_doubt(self, message: Warning | str, *_: object, **__: object) -> None:
        """Tell a warning of Python's or numpy's at the script's line: where it stands in Python's files is no news."""
        self.warn(str(message))

    def _on_lost(self, lost: Any) -> None:
        """Tell what a script raised where nobody can catch it, as Python does: a generator was dropped, and its `finally` failed."""
        error = lost.exc_value
        with suppress(Exception):  # this is told in the midst of anything, with no stack left perhaps
            where = self.machine.where_of(error) if isinstance(error, Exception) else None
            if where is not None:
                text = f"{type(error).__name__} was ignored, raised while an object was deleted: {words_of(error)}"
                self.warn(text, self.line_of(where))

    def _on_print(self, text: str) -> None:
        self._spend(len(text))
        ended = text.endswith("\n")
        self.emit(Print(text[:-1] if ended else text, ended))

    def _on_error_output(self, text: str) -> None:
        self._spend(len(text))
        self.emit(ErrorOutput(text))

    def _on_value(self, statement: stmt, value: object) -> None:
        """Show the value of a statement, but not a generator or a hook's handle: an address, another one in each run."""
        if getattr(type(value), "__script_silent__", False):
            return
        text = repr(value)
        self._spend(len(text))
        self.emit(Value(statement.span.line, text))

    def _on_exit(self, code: object) -> None:
        """Leave with the status of a SystemExit: none is 0, a text is shown and means 1, as in Python."""
        if code is not None and not isinstance(code, int):
            self.warn(str(code))
            code = 1
        self.leave((code or 0) & 0xFF)

    def _on_command(self, invocation: Invocation) -> None:
        command = find(invocation.command.name)
        wanted, output = self._output_options(invocation)
        call = self._call_of(invocation)
        outer, self.state.call = self.state.call, call
        meter = self.state.meter
        alive = 0 if meter is None or meter.tally is None else meter.tally.nodes
        try:
            with keeping(Pace(command.name, self.machine.check, alive, plain=self.plain)):
                report = command.call(invocation, self.state)
        finally:
            self.state.call = outer
        if report is not None:
            if self.limits.max_output and not (self.typed and self._command_only):  # what a person asks for is shown
                self._spend(len(repr(report)))  # about as long as what a renderer makes of it
            self.emit(Result(call.line, command.name, report, lambda: command.view(report), wanted, output))

    def _call_of(self, invocation: Invocation) -> CommandCall:
        node, source = invocation.command, invocation.source
        texts = tuple(text_of(source, argument.span) for argument in node.arguments)
        return CommandCall(self.told(node.span.line, source.name), texts, invocation.local or {}, source, self._command_only)

    def _output_options(self, invocation: Invocation) -> tuple[str, str]:
        """The values of `--format` and `--output`; raises where files are not for this script to write."""
        values = invocation.options
        wanted, output = (values[name]() if name in values else "" for name in ("format", "output"))
        if output:
            ending = output.rpartition(".")[2].lower()
            wanted = wanted or ENDINGS.get(ending, "")
            formats = formats_of(invocation.command.name)
            if wanted and wanted not in formats:  # said before the command runs
                message = f"{invocation.command.name} has nothing to draw as {wanted}; its formats are {', '.join(formats)}"
                raise fail("value", message, ValueError)
            output = self.allowed_file(output)
        return wanted, output
