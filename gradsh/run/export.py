"""`gradsh export`: writes a script as plain PyTorch, for a post or a bug report. The text is edited where it stands; PyTorch is not needed.

Bare names get their prefix, shown values are printed, `backward` becomes PyTorch's call, and what only looks becomes a comment.
"""

import sys
from pathlib import Path

from gradsh.commands import GRAMMARS
from gradsh.language import tree
from gradsh.language.node import stmt
from gradsh.language.parser import parse
from gradsh.language.paste import clean
from gradsh.process.files import write_whole
from gradsh.render.diagnostic import draw
from gradsh.render.style import style_for
from gradsh.run.export_commands import CATCH, Commands
from gradsh.run.export_edits import Edits, indented
from gradsh.run.export_names import PythonNames
from gradsh.run.export_values import Values
from gradsh.run.read import read_script
from gradsh.text.expectations import scan
from gradsh.text.problem import ProblemError
from gradsh.text.script_options import options_of
from gradsh.text.span import Source

SHOW = "\ndef {0}(value):\n    if value is not None:\n        print(repr(value))\n\n"
"""Shows a value as a prompt does."""
SHOW_AND_KEEP = (
    "_ = __ = None\n\ndef {0}(value):\n    global _, __\n    if value is not None:\n"
    "        _, __ = value, _\n        print(repr(value))\n\n"
)
"""The same for a program that reads the last values as `_` and `__`."""


def export_file(name: str, output: str | None = None) -> int:
    """Write a script as PyTorch to a file or standard output; return the exit status (2 where it cannot be read)."""
    script = read_script(name)
    if script.unreadable:
        sys.stderr.write(f"gradsh: cannot read {script.name}: {script.unreadable}\n")
        return 2
    source = Source(script.name, clean(script.text)[0])
    try:
        text, notes = exported(source)
    except ProblemError as error:
        sys.stderr.write("".join(line + "\n" for line in draw(error.problem, source, style_for(sys.stderr, plain=False))))
        return 2
    sys.stderr.write("".join(f"note: {note}\n" for note in notes))
    if output is None:
        sys.stdout.write(text)
        return 0
    try:
        write_whole(Path(output), text.encode())
    except (OSError, ValueError) as error:
        sys.stderr.write(f"gradsh: cannot write {output}: {error}\n")
        return 2
    return 0


def exported(source: Source) -> tuple[str, list[str]]:
    """Return a script as a Python program on PyTorch, and what to know about it. Raises ProblemError for what cannot be parsed."""
    program = parse(source, GRAMMARS)
    return _Export(source, program.body).text()


class _Export:
    """The edits of one script."""

    def __init__(self, source: Source, body: list[stmt]) -> None:
        self.source = source
        self.body = body
        self.edits = Edits(source)
        self.names = PythonNames(body)
        for name, text in list(self.names.found()):
            self.edits.replace(*self.edits.range(name.span), text)
        self.commands = Commands(self.edits)
        self.values = Values(body, self.names)
        announced = scan(source, [(one.span.line, one.span.end_line) for one in body], strict=False)
        self.failing = {line for line, block in announced.items() if block.fails}

    def text(self) -> tuple[str, list[str]]:
        """Return the program and the notes."""
        for statement in self.body:
            self._edit(statement)
        first = next((number for number, one in enumerate(self.body) if not _heads(one)), len(self.body))
        at = self._head_place(first)
        text = self.edits.rendered(0, at) + self._head(first) + self.edits.rendered(at, len(self.source.text))
        if text.startswith("#!") and "gradsh" in text.partition("\n")[0]:
            text = text.partition("\n")[2]
        return text.rstrip("\n") + "\n", self.commands.notes

    def _head_place(self, first: int) -> int:
        """Return where what is added to the head stands: below the program's own imports, else above its first statement."""
        text = self.source.text
        if first:
            end = text.find("\n", self.edits.range(self.body[first - 1].span)[1])
            return len(text) if end < 0 else end + 1
        return text.rfind("\n", 0, self.edits.range(self.body[0].span)[0]) + 1 if self.body else len(text)

    def _edit(self, statement: stmt) -> None:
        self.commands.edit([statement])
        span = statement.span
        shows = not self.source.name.endswith(".py")  # a Python file shows no values
        around = self.values.around(statement.value) if shows and isinstance(statement, tree.Expr) else None
        if around is not None:
            self.edits.around(span, *around)
        code = not isinstance(statement, tree.Command) or self.commands.code_of(statement)
        if span.end_line in self.failing and code:
            start, end = self.edits.range(span)
            self.edits.replace(start, end, "\n".join(("try:", indented(self.edits.rendered(start, end)), CATCH)))
            self.commands.needs_sys = True

    def _head(self, first: int) -> str:
        """Return the lines that stand before the first statement: imports that are missing, the seed, what shows values."""
        standing = self.names.standing
        seed = options_of(self.source, strict=False).seed or 0
        line = self.source.line(self.body[first].span.line) if first < len(self.body) else ""
        seeding = "manual_seed(" in line
        standing |= {"torch"} if not seeding else set()
        standing |= {"sys"} if self.commands.needs_sys else set()
        lines = [f"{line}\n" for line in self.names.imports(self.body[:first])]
        if not seeding:
            lines.append(f"torch.manual_seed({seed})\n")
        if self.values.helper:
            lines.append((SHOW_AND_KEEP if self.values.read_again else SHOW).format(self.values.helper))
        return "".join(lines)


def _heads(statement: stmt) -> bool:
    """Whether a statement belongs to the head of a program: an import, or its docstring."""
    if isinstance(statement, tree.Expr):
        return isinstance(statement.value, tree.Constant) and isinstance(statement.value.value, str)
    return isinstance(statement, tree.Import | tree.ImportFrom)
