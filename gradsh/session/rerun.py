"""Runs the program so far again in a copy, with another number in the place of one that it assigns, and measures what a step needs."""

from collections.abc import Iterator, Sequence
from typing import Any

from gradsh.commands.undo import LOOKS, in_story
from gradsh.compiler.lower import Unit
from gradsh.contracts.events import Failure
from gradsh.language.tree import AnnAssign, Assign, Constant, Name, Tuple
from gradsh.probe.budget import Budget, ModuleCalls, budget_of, optimizers_in
from gradsh.probe.foreign import tensor_of
from gradsh.process.gc_policy import governor
from gradsh.text.problem import Problem

_ROOTS = "gradsh_roots"
_STEP = """\
for gradsh_leaf in [leaf for group in {0}.param_groups for leaf in group["params"]]:
    if gradsh_leaf.requires_grad and gradsh_leaf.grad is None:
        gradsh_leaf.grad = torch.zeros_like(gradsh_leaf)
{0}.step()
"""


def number_of(session: object, name: str) -> int | None:
    """Return the whole number that the program's latest top-level assignment gives a name, None where it gives another value."""
    found = _assigned(_units(session), name)
    return None if found is None else int(found.value)  # type: ignore[call-overload]


def needs(session: Any, roots: Sequence[str], name: str, value: int, *, checkpointed: bool) -> Budget | Problem:
    """Return what a step needs where `name` is `value`, or how the program fails then."""
    units = _units(session)
    constant = _assigned(units, name) if name else None
    copy = session.copy()
    session.inner, asked = copy, governor.ask
    before = None if constant is None else constant.value
    try:
        if constant is not None:
            constant.value = value
        return _measured(copy, units, roots, checkpointed=checkpointed)
    finally:
        if constant is not None:
            constant.value = before
        session.inner, governor.ask = None, asked


def _measured(copy: Any, units: list[tuple[Unit, bool]], roots: Sequence[str], *, checkpointed: bool) -> Budget | Problem:
    calls = ModuleCalls(copy, checkpointed=checkpointed)
    with calls.followed():
        failed: Problem | None = copy.run_again(units)
        if failed is None:
            failed = _run(copy, f"{_ROOTS} = [{', '.join(roots)}]")
    notes: list[str] = []
    if failed is not None:
        return failed
    with copy.look():
        optimizers = [path for path in optimizers_in(copy.machine.variables()) if all(map(str.isidentifier, path.split(".")))]
    for path in optimizers:
        wrong = _run(copy, _STEP.format(path))
        if wrong is not None:
            notes.append(f"the state of {path} is not counted: its step fails ({wrong.message.splitlines()[0]})")
    found = copy.machine.program.pop(_ROOTS)
    copy.machine.program.pop("gradsh_leaf", None)
    with copy.look():
        tensors = [tensor for one in found if (tensor := tensor_of(one)) is not None]
        return budget_of(tensors, copy.machine.variables(), copy.line_of, calls, tuple(notes))


def _run(copy: Any, text: str) -> Problem | None:
    """Run a text in the copy; return how it failed."""
    problems: list[Problem] = []
    copy.run(text, lambda event: problems.append(event.problem) if isinstance(event, Failure) else None)
    return problems[0] if problems else None


def _units(session: Any) -> list[tuple[Unit, bool]]:
    """Return the statements that make the program what it is, and whether each passed."""
    state = session.state
    entries = [entry for entry in state.history if in_story(entry) and entry.command not in LOOKS and not entry.cut]
    numbered = ((session.machine.units.numbered(entry.unit), entry.ok) for entry in entries)
    return [(unit, ok) for unit, ok in numbered if unit is not None]


def _assigned(units: list[tuple[Unit, bool]], name: str) -> Constant | None:
    """Return the whole number that the latest assignment of a name has on its right."""
    for unit, _ in reversed(units):
        for target, value in _bindings(unit.stmt):
            if isinstance(target, Name) and target.id == name:
                return value if isinstance(value, Constant) and type(value.value) is int else None
    return None


def _bindings(statement: Any) -> Iterator[tuple[object, object]]:
    """Yield (target, value) of what an assignment binds; those of `a, b = 1, 2` each."""
    if isinstance(statement, AnnAssign):
        yield statement.target, statement.value
    for target in statement.targets if isinstance(statement, Assign) else ():
        if isinstance(target, Tuple) and isinstance(statement.value, Tuple) and len(target.elts) == len(statement.value.elts):
            yield from zip(target.elts, statement.value.elts, strict=True)
        else:
            yield target, statement.value
