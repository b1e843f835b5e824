"""Names that a program of PyTorch's uses without importing them: gradsh offers them, Python does not find them."""

from collections.abc import Iterable, Sequence

from gradsh.compiler.scopes import walk
from gradsh.contracts.events import Warn
from gradsh.language import tree
from gradsh.language.node import stmt
from gradsh.run.export_names import PythonNames
from gradsh.runtime.machine import Machine


def after_run(machine: Machine, name: str) -> Warn | None:
    """Return the warning about a program that has been run as the file `name`, None where nothing is missing."""
    # what a module's file uses has no unit here
    used = {id(unit): unit for bare, unit in machine.brought.items() if unit and bare not in machine.taken | machine.program.keys()}
    if not used or not is_python(unit.stmt for unit in machine.units.all() if unit.source.name == name):
        return None
    return _warning([unit.stmt for unit in used.values()], machine)


def before_run(program: tree.Program, machine: Machine) -> Warn | None:
    """Return the warning about a program whose statements the machine has compiled, without running any."""
    stars = any(isinstance(node, tree.ImportFrom) and node.names[0].name == "*" for node in walk(program))
    return None if stars or not is_python(program.body) else _warning(program.body, machine)


def is_python(body: Iterable[stmt]) -> bool:
    """Whether a text is a program of PyTorch's, not a script of gradsh's own: it imports torch, and no statement is a command."""
    imports = False
    for statement in body:
        if isinstance(statement, tree.Command):
            return False
        if isinstance(statement, tree.Import):
            imports = imports or any(one.name.partition(".")[0] == "torch" for one in statement.names)
        elif isinstance(statement, tree.ImportFrom):
            imports = imports or (statement.module or "").partition(".")[0] == "torch"
    return imports


def _warning(body: Sequence[stmt], machine: Machine) -> Warn | None:
    """Return the warning that says where each name stands first that is missing, and what to write."""
    names = PythonNames(body, machine.builtins.keys() - machine.brought.keys())
    names.everywhere |= machine.taken
    missing = sorted(names.missing(), key=lambda one: one[0].span[:2])
    if not missing:
        return None
    parts = [f"`{node.id}` on line {node.span.line} (write `{way}`)" for node, way in missing]
    return Warn(missing[0][0].span.line, f"Python raises NameError for what this program does not import: {', '.join(parts)}")
