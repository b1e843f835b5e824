"""`plan … --fits SIZE --vary NAME`: the bytes of a training step, how they grow with a number, and the largest that fits."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from gradsh.commands.words import count
from gradsh.contracts.state import State
from gradsh.probe.budget import Budget, Sums
from gradsh.probe.fit import Largest, Law, Measure, largest, law_of
from gradsh.process.limits import bytes_of
from gradsh.text.fault import fail
from gradsh.text.problem import Problem
from gradsh.view.shapes import Cell, Column, Group, Lines, Row, Table, View

_MOST = 12
_SMALL = 1 << 28
"""Bytes that a run may take which only confirms an answer."""


class FitCase(NamedTuple):
    """The budget now, the law of its total and what fits.

    `beside` has by part the bytes for each one more; where these grow with the number, too, those for twice `law.points[0]`.
    """

    budget: Budget
    law: Law | None = None
    largest: Largest | None = None
    beside: Sums = ()


class Fit(NamedTuple):
    """What a step needs as the program stands, and with every block checkpointed (None: the net has no blocks).

    `name` and `value` are what was varied (empty: nothing), `size` the bytes to fit into (0: none were given).
    """

    name: str
    value: int
    size: int
    plain: FitCase
    checkpointed: FitCase | None


def fit(state: State, size: str, name: str) -> Fit:
    """Measure the program in copies. Raises kind `value` for what is no size or number, and where no copy runs."""
    nbytes = _bytes(size) if size else 0
    if not state.call.top:
        raise fail("value", "plan --fits and --vary work at the top level only: they run the program so far again", ValueError)
    value = _number(state, name) if name else 0
    plain_budget = cache(lambda number: state.control.needs(state.call.texts, name, number, checkpointed=False))

    def with_checkpoints(number: int) -> Budget | Problem:
        without, found = plain_budget(number), state.control.needs(state.call.texts, name, number, checkpointed=True)
        return found._replace(recomputed=without.block) if isinstance(found, Budget) and isinstance(without, Budget) else found

    plain = _case(state, nbytes, name, value, plain_budget)
    with_blocks = _case(state, nbytes, name, value, with_checkpoints) if plain.budget.blocks else None
    return Fit(name, value, nbytes, plain, with_blocks)


def _bytes(size: str) -> int:
    try:
        return bytes_of(size)
    except ValueError as error:
        raise fail("value", f"plan --fits: {error}", ValueError) from None


def _number(state: State, name: str) -> int:
    if name not in state.variables:
        raise fail("name", f"name '{name}' is not defined", NameError, name=name)
    value = state.control.number_of(name)
    if not value or value < 1:
        message = f"plan --vary {name}: no statement at the top level assigns an integer to {name}"
        message += f": assign one (`{name} = 8`) and use it below"
        raise fail("value", message, ValueError)
    return value


def _case(state: State, size: int, name: str, value: int, measure: Measure) -> FitCase:
    """Return the budget, and how it grows where something is varied."""

    def must(number: int) -> Budget:
        found = measure(number)
        if isinstance(found, Problem):
            given = f" with {name} = {number}" if name else ""
            raise fail("value", f"the program fails when it is run again{given}: {found.message.splitlines()[0]}", ValueError)
        return found

    now = must(value)
    if not name:
        return FitCase(now)
    weightless = state.control.weightless
    unit = value if weightless or now.total < _SMALL or value < 3 else value // 3
    points = [(number, now if number == value else must(number)) for number in (unit, 2 * unit, 3 * unit)]
    law = law_of([(number, budget.total) for number, budget in points])
    second, third = _parts(points[1][1]), _parts(points[2][1])
    beside = tuple(second.items()) if law.square else tuple((part, (third[part] - second.get(part, 0)) // unit) for part in third)
    if not size or not law.grows:
        return FitCase(now, law, None, beside)
    found = largest(size, law, measure, free=weightless or 2 * size < _SMALL, unit=value)
    return FitCase(now, law, found, beside)


_PARTS = (
    ("parameters", "parameters"), ("gradients", "gradients"), ("optimizer's state", "state"), ("saved for backward", "saved"),
    ("other tensors", "others"), ("one block recomputed", "recomputed"), ("total", "total"),
)


def _parts(budget: Budget) -> dict[str, int]:
    """Return the bytes of a budget's parts by field, and what lines and modules saved by their names."""
    return {field: getattr(budget, field) for _, field in _PARTS} | dict(budget.by_line) | dict(budget.by_module)


def view(report: Fit) -> View:
    """Shape the budget, what lines and modules save, and the answer."""
    cases = [report.plain, *([report.checkpointed] if report.checkpointed else [])]
    heads = [f"{report.name} = {report.value}" if report.name else "bytes", "blocks checkpointed"]
    fields = [(words, field) for words, field in _PARTS if field != "recomputed" or report.checkpointed]
    parts: list[View] = [_table("training step", heads, fields, cases, report.name)]
    modules = report.plain.budget.by_module
    for title, sums in (("saved on", report.plain.budget.by_line), ("saved in module", modules if len(modules) > 1 else ())):
        if sums:
            parts.append(_table(title, ["bytes"], [(name, name) for name, _ in sums], [report.plain], report.name))
    parts.append(Lines(tuple(_answers(report))))
    return Group(tuple(parts))


def _table(title: str, heads: Sequence[str], fields: Sequence[tuple[str, str]], cases: Sequence[FitCase], name: str) -> Table:
    columns = [Column(title)]
    cells: list[list[Cell]] = [[words] for words, _ in fields[:_MOST]]
    for head, case in zip(heads, cases, strict=False):
        columns += [Column(head, "bytes"), *([Column(_beside(case, name), "bytes")] if name else [])]
        now, beside = _parts(case.budget), dict(case.beside)
        for row, (_, field) in zip(cells, fields, strict=False):
            row += [now[field], *([beside.get(field) or None] if name else [])]
    more = "`--format json` has them all"
    return Table(tuple(columns), tuple(Row(tuple(row)) for row in cells), (), max(0, len(fields) - _MOST), more)


def _beside(case: FitCase, name: str) -> str:
    return f"{name} = {case.law.points[1]}" if case.law is not None and case.law.square else f"per unit of {name}"


def _answers(report: Fit) -> list[str]:
    lines = [_answer(report, report.plain, "")]
    if report.checkpointed is not None:
        blocks = count(report.checkpointed.budget.blocks, "block")
        saves = report.plain.budget.total - report.checkpointed.budget.total
        lines.append(f"checkpointing {blocks} saves {saves:,} B" if saves > 0 else f"checkpointing {blocks} saves nothing")
        lines.append(_answer(report, report.checkpointed, "with every block checkpointed, "))
    lines += report.plain.budget.notes
    lines.append("not counted: temporary memory inside operations, rounding by the allocator")
    return [line for line in lines if line]


def _answer(report: Fit, case: FitCase, begins: str) -> str:
    name, size, total = report.name, report.size, case.budget.total
    if not name:
        word = "fits" if total <= size else "does not fit"
        return f"{begins}a step of {total:,} B {word} in {size:,} B"
    stands = f"{begins}{name} = {report.value} needs {total:,} B"
    if case.law is not None and not case.law.grows:
        return f"{stands}, which does not grow with {name}"
    if case.largest is None:
        return stands
    best = case.largest
    if not best.number:
        fixed = f", {case.law.at(0):,} B of it independent of {name}" if case.law is not None else ""
        return f"{begins}nothing fits in {size:,} B: {name} = 1 needs {best.nbytes:,} B{fixed}"
    words = f"{begins}{name} up to {best.number:,} fits in {size:,} B: it needs {best.nbytes:,} B, one more needs {best.beyond:,} B"
    return f"{words} ({_how(best, case, name)})"


def _how(best: Largest, case: FitCase, name: str) -> str:
    points = ", ".join(map(str, case.law.points)) if case.law is not None else ""
    refused = f"; {best.refused}" if best.refused else ""
    if best.measured:
        return f"measured with {name} = {best.number:,}{refused}"
    return f"computed from {name} = {points}, not run{refused}"
