import pytest

from gradsh.diagnosis.diagnose import diagnose
from gradsh.engine.ambient import Ambient, enter
from gradsh.language.parser import parse
from gradsh.runtime.machine import Invocation, Machine, StatementFailure
from gradsh.text.span import Source


class Script:
    """A machine with everything it tells kept in lists."""

    def __init__(self) -> None:
        self.machine = Machine(diagnose)
        self.printed: list[str] = []
        self.values: list[object] = []
        self.failures: list[StatementFailure] = []
        self.warnings: list[str] = []
        self.invocations: list[Invocation] = []
        self.command = self.invocations.append
        self.machine.on_print = self.printed.append
        self.machine.on_value = lambda _statement, value: self.values.append(repr(value))
        self.machine.on_warning = lambda message, line=None: self.warnings.append(message)
        self.machine.on_command = lambda invocation: self.command(invocation)
        self.ambient = Ambient()
        self.ambient.locate = self.machine.where
        self.ambient.warn = lambda message, _: self.warnings.append(message)
        self.ambient.check = self.machine.check

    def run(self, text: str, grammars=None, first_line: int = 1) -> "Script":
        if grammars is None:
            from gradsh.commands import GRAMMARS as grammars
        source = Source("script", text, first_line)
        with enter(self.ambient):
            for statement in parse(source, grammars, self.machine.program).body:
                failed = self.machine.run_statement(statement, source)
                if failed is not None:
                    self.failures.append(failed)
        return self

    @property
    def output(self) -> str:
        return "".join(self.printed)

    @property
    def failure(self) -> StatementFailure:
        assert len(self.failures) == 1, [failed.problem.message for failed in self.failures]
        return self.failures[0]

    def lines(self, role: str) -> list[int]:
        """Lines of the labels of one role in the only failure."""
        return [label.span.line for label in self.failure.problem.labels if label.role == role]

    def marked(self, role: str) -> list[str]:
        """The texts that the labels of one role underline."""
        found = []
        for label in self.failure.problem.labels:
            if label.role == role:
                line = (label.source or self.failure.source).line(label.span.line)
                end = label.span.end_column - 1 if label.span.end_line == label.span.line else None
                found.append(line[label.span.column - 1 : end])
        return found


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def scripts():
    return Script
