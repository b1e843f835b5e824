"""Names that a program of PyTorch's uses without importing them: gradsh offers them, Python does not find them."""

from collections.abc import Sequence

from gradsh.compiler.scopes import is_python, walk
from gradsh.contracts.events import Warn
from gradsh.language import tree
from gradsh.language.node import stmt
from gradsh.run.export_names import PythonNames
from gradsh.runtime.machine import Machine


def after_run(machine: Machine) -> Warn | None:
    """Return the warning about a program of PyTorch's that has been run, None where nothing is missing."""
    # what a module's file uses has no unit here
    used = {id(unit): unit for bare, unit in machine.brought.items() if unit and bare not in machine.taken | machine.program.keys()}
    return _warning([unit.stmt for unit in used.values()], machine) if used else None


def before_run(program: tree.Program, machine: Machine) -> Warn | None:
    """Return the warning about a program whose statements the machine has compiled, without running any."""
    stars = any(isinstance(node, tree.ImportFrom) and node.names[0].name == "*" for node in walk(program))
    return None if stars or not is_python(program.body) else _warning(program.body, machine)


def _warning(body: Sequence[stmt], machine: Machine) -> Warn | None:
    """Return the warning that says where each name stands first that is missing, and what to write."""
    names = PythonNames(body, machine.builtins.keys() - machine.brought.keys())
    names.everywhere |= machine.taken
    missing = sorted(names.missing(), key=lambda one: one[0].span[:2])
    if not missing:
        return None
    parts = [f"`{node.id}` on line {node.span.line} (write `{way}`)" for node, way in missing]
    return Warn(missing[0][0].span.line, f"Python raises NameError for what this program does not import: {', '.join(parts)}")
