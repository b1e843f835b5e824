"""When the steps of a backward pass are written: after a few uses of an operation's nodes, or at once for large gradients."""

from typing import Any

from numpy import ndarray

from gradsh.engine.schema.overload import DECLINED, FEW, HEAVY, Record


def _too_early(record: Record, gradient: Any) -> bool:
    if type(gradient) is list and len(gradient) == 1:
        (gradient,) = gradient
    heavy = type(gradient) is ndarray and gradient.nbytes >= HEAVY
    record.steps = FEW + 1 if heavy else record.steps + 1
    return record.steps <= FEW


def first_step(node: Any, run: Any, *rest: Any) -> Any:
    """Leave the first nodes of a record to the general step; then write the short one, and take it."""
    record = node.record
    if _too_early(record, run.buffers.get(node)):
        return DECLINED
    from gradsh.engine.codegen.backward_step import step_of

    record.step = step_of(record, short=False)
    return record.step(node, run, *rest)


def first_short_step(node: Any, run: Any, *rest: Any) -> Any:
    """Leave the first `ShortNode`s of a record to the general step; then write the short one, and take it."""
    record = node.record
    if _too_early(record, run.buffers.get(node)):
        return DECLINED
    from gradsh.engine.codegen.backward_step import step_of

    record.short_step = step_of(record, short=True)
    return record.short_step(node, run, *rest)


def first_recorded_step(node: Any, *rest: Any) -> Any:
    """Leave the first `ShortNode`s of a record in a recorded pass to the general step; then write the short one, and take it."""
    record = node.record
    record.steps += 1
    if record.steps <= FEW:
        return DECLINED
    from gradsh.engine.codegen.backward_create_graph import recorded_step_of

    record.recorded = recorded_step_of(record)
    return record.recorded(node, *rest)
