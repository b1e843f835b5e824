"""Commands in plain Python: `backward` becomes a call, `expect error` a `try`, `time` its statement, a look a comment."""

from collections.abc import Sequence
from typing import Any

from gradsh.language import tree
from gradsh.language.node import expr, stmt
from gradsh.run.export_edits import Edits, indented

_OPERANDS = (tree.Name, tree.Attribute, tree.Call, tree.Subscript)
CATCH = 'except Exception as _error:\n    print(f"{type(_error).__name__}: {_error}", file=sys.stderr)'
_WITHOUT = {
    "release": "PyTorch frees all or nothing", "retain": "PyTorch keeps all or nothing: a later backward frees the pinned buffers",
    "undo": "PyTorch has no undo", "redo": "PyTorch has no undo", "reset": "the program keeps its variables",
    "load": "run that file, too", "set": "a setting of gradsh's",
}
"""Commands that change what follows, and have no counterpart."""


class Commands:
    """Puts Python in the place of commands. `notes` tell what has no counterpart; `needs_sys` that a line uses `sys`."""

    def __init__(self, edits: Edits) -> None:
        self.edits = edits
        self.notes: list[str] = []
        self.needs_sys = False

    def edit(self, body: Sequence[stmt]) -> None:
        """Edit the commands of a block and of the blocks in it."""
        looks = [one for one in body if isinstance(one, tree.Command) and not self.code_of(one)]
        for one in body:
            if isinstance(one, tree.Command):
                self._edit(one, alone=len(looks) < len(body) or one is not looks[0])
            else:
                for block in _blocks(one):
                    self.edit(block)

    def _edit(self, command: tree.Command, *, alone: bool) -> None:
        start, end = self.edits.range(command.span)
        code = self.code_of(command)
        if command.name in _WITHOUT and not code:
            self.notes.append(f"line {command.span.line}: `{command.text}` is not exported: {_WITHOUT[command.name]}")
        if code:
            self.needs_sys = self.needs_sys or "sys." in code
            margin = " " * (command.span.column - 1)
            extra = f"  # {command.text}" if command.name in {"time", "expect"} or "step" in command.options else ""
            first, *rest = code.split("\n")
            self.edits.replace(start, end, "\n".join((first + extra * (not rest), *(margin + line for line in rest))))
            return
        comment = command.text.replace("\n", "\n# ")
        if self._fills_lines(start, end):
            text = f"# {comment}" if alone or command.span.column == 1 else f"pass  # {comment}"
            self.edits.replace(start, end, text.replace("\n", "\n" + " " * (command.span.column - 1)))
        else:
            self.edits.replace(start, end, "pass")

    def _fills_lines(self, start: int, end: int) -> bool:
        """Whether nothing but the command and comments stands on its lines."""
        text = self.edits.text
        before = text[text.rfind("\n", 0, start) + 1 : start]
        rest = text[end:].partition("\n")[0].strip()
        return not before.strip() and (not rest or rest[0] == "#")

    def code_of(self, command: tree.Command) -> str:
        """Return the Python code of a command, empty for one that only looks or has no counterpart."""
        options: dict[str, Any] = {name: one.value for name, one in command.options.items()}
        match command.name:
            case "backward" if "plan" not in options:
                return self._backward(command.arguments, options)
            case "retain" if "grad" in options:
                return "; ".join(f"{self._operand(one)}.retain_grad()" for one in command.arguments)
            case "time" if command.tail is not None:
                return self.edits.of(command.tail)
            case "expect" if command.tail is not None:
                inner = self.code_of(command.tail) if isinstance(command.tail, tree.Command) else self.edits.of(command.tail)
                return "\n".join(("try:", indented(inner or "pass"), CATCH, "else:", '    raise AssertionError("expected a failure")'))
            case "quit" | "exit":
                return f"sys.exit({self.edits.of(command.arguments[0]) if command.arguments else ''})"
            case _:
                return ""

    def _backward(self, tensors: Sequence[expr], options: dict[str, Any]) -> str:
        gradients = [self.edits.of(one) for one in options.get("grad", ())]
        words = [f"{name}=True" for option, name in (("retain", "retain_graph"), ("create-graph", "create_graph")) if option in options]
        if "inputs" in options:
            words.append(f"inputs=[{', '.join(self.edits.of(one) for one in options['inputs'])}]")
        if len(tensors) == 1 and len(gradients) < 2:
            return f"{self._operand(tensors[0])}.backward({', '.join(gradients + words)})"
        given = [f"[{', '.join(group)}]" for group in (list(map(self.edits.of, tensors)), gradients) if group]
        return f"torch.autograd.backward({', '.join(given + words)})"

    def _operand(self, node: expr) -> str:
        text = self.edits.of(node)
        return text if isinstance(node, _OPERANDS) else f"({text})"


def _blocks(statement: stmt) -> list[list[stmt]]:
    """Return the blocks of a compound statement."""
    found = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    return [block for block in [*found, *(one.body for one in getattr(statement, "handlers", []))] if block]
