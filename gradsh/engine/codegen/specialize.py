"""When the steps of a backward pass are written: after a few uses of an operation's nodes, or at once for large gradients."""

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from gradsh.engine.schema.overload import FALLBACK, SPECIALIZE_AFTER, SPECIALIZE_NOW_BYTES, Overload


def _used_enough(record: Overload, gradient: Any) -> bool:
    if type(gradient) is list and len(gradient) == 1:
        (gradient,) = gradient
    heavy = type(gradient) is ndarray and gradient.nbytes >= SPECIALIZE_NOW_BYTES
    record.steps = SPECIALIZE_AFTER + 1 if heavy else record.steps + 1
    return record.steps > SPECIALIZE_AFTER


def _specialize_on_use(kind: str) -> Callable[..., Any]:
    """Return what stands for one of a record's steps at first: it leaves nodes to the general step, then writes the step and takes it."""

    def first(node: Any, run: Any, *rest: Any) -> Any:
        record = node.record
        if not _used_enough(record, run.buffers.get(node)):
            return FALLBACK
        from gradsh.engine.codegen import backward

        step = getattr(backward, f"write_{kind}")(record)
        setattr(record, kind, step)
        return step(node, run, *rest)

    return first


STEPS = {kind: _specialize_on_use(kind) for kind in ("step", "short_step", "recorded")}
"""What a record begins with."""
