"""When fast paths are written: after a few uses of an operation or of its nodes, or at once for large gradients.

What writes them is imported then, so that a short program pays nothing for it.
"""

from collections.abc import Callable
from typing import Any

from numpy import ndarray

from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.schema.overload import FALLBACK, SPECIALIZE_AFTER, SPECIALIZE_NOW_BYTES, Overload, fall_back


def specialize_on_use(
    general: Callable[..., object], write: Callable[[], Callable[..., object] | None], install: Callable[[object], None],
) -> Callable[..., object]:
    """Return what does as `general` does at first; then it installs what `write` returns (None: nothing can be written) and calls that."""
    calls = 0

    def counting(*args: object) -> object:
        nonlocal calls
        calls += 1
        if calls <= SPECIALIZE_AFTER:
            return general(*args)
        written = write()
        install(written)
        return (written or general)(*args)

    return counting


def quicken(operation: Operation, record: Overload) -> None:
    """Give an operation the fast path of an elementwise record."""

    def write() -> Callable[..., object] | None:
        from gradsh.engine.codegen.forward_elementwise import is_quick, write_elementwise

        if not is_quick(record):
            return None
        written, arity = write_elementwise(record), len(record.tensors or ())
        return lambda *args: written(*args) if len(args) == arity else FALLBACK

    def install(written: Any) -> None:
        operation.fast_elementwise = written

    install(specialize_on_use(fall_back, write, install))


def quicken_operator(operation: Operation, general: Callable[..., object], special: str) -> Callable[..., object]:
    """Return the function behind an operator, which the fast path of its operation takes the place of."""

    def write() -> Callable[..., object] | None:
        from gradsh.engine.codegen.forward_elementwise import is_quick, write_elementwise

        for record in operation.records:
            if record.ufunc is not None and is_quick(record):
                return write_elementwise(record, general)
        return None

    return specialize_on_use(general, write, lambda written: setattr(Tensor, special, written or general))


def _step_on_use(kind: str) -> Callable[..., object]:
    """Return what stands for one of a record's steps at first: it counts the nodes of all kinds, then writes the step."""

    def counting(node: Any, run: Any, *rest: object) -> object:
        record = node.record
        gradient = run.buffers.get(node)
        if type(gradient) is list and len(gradient) == 1:
            (gradient,) = gradient
        heavy = type(gradient) is ndarray and gradient.nbytes >= SPECIALIZE_NOW_BYTES
        del gradient  # a leaf may take it over only if nobody else refers to it
        record.steps = SPECIALIZE_AFTER + 1 if heavy else record.steps + 1
        if record.steps <= SPECIALIZE_AFTER:
            return FALLBACK
        from gradsh.engine.codegen import backward

        step = getattr(backward, f"write_{kind}")(record)
        setattr(record, kind, step)
        return step(node, run, *rest)

    return counting


STEPS = {kind: _step_on_use(kind) for kind in ("step", "compact_step", "recorded_step")}
"""What a record begins with."""
