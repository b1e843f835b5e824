"""Forward mode of custom functions: the tangents of what `forward` returns come from the function's `jvp`."""

from collections.abc import Sequence
from typing import Any

from gradsh.engine.dispatch.tangents import Level, beneath, levels, set_tangent, tangent_of
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail


class Pushing:
    """One call of a custom function within levels of forward mode: the tangents of its arguments, as they were before it."""

    __slots__ = ("args", "before")

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args
        self.before: list[tuple[Level, list[Any], list[Any]]] = []
        for level in levels():
            tangents = [tangent_of(one, level) if isinstance(one, Tensor) else None for one in args]
            if any(one is not None for one in tangents):
                self.before.append((level, tangents, [None if one is None else one.counter.version for one in tangents]))

    def run(self, function: Any, outputs: Any, wrapped: list[Any]) -> None:
        """Ask the function's `jvp` for the tangents of its outputs, level by level."""
        for level, tangents, versions in self.before:
            with beneath(level):
                found = function.jvp(outputs.node.facade(), *self._given(tangents, outputs.node.materialize))
            found = found if isinstance(found, tuple) else (found,)
            if len(found) != len(wrapped):
                counts = f"(expected {len(wrapped)} but got {len(found)})"
                raise _refused(f"Function's jvp returned an invalid number of forward gradients {counts}")
            for place, tangent in enumerate(found):
                self._check(place, tangent, outputs, tangents, versions)
                if isinstance(wrapped[place], Tensor) and tangent is not None:
                    set_tangent(wrapped[place], level, tangent, written=id(outputs.outputs[place]) in outputs.dirty)

    def _given(self, tangents: list[Any], materialize: bool) -> list[object]:
        return [
            find("zeros_like")(one)
            if tangent is None and materialize and isinstance(one, Tensor) and one.array.dtype.kind == "f" else tangent
            for one, tangent in zip(self.args, tangents, strict=True)
        ]

    def _check(self, place: int, tangent: Any, outputs: Any, tangents: list[Any], versions: Sequence[object]) -> None:
        if tangent is not None and not isinstance(tangent, Tensor):
            raise _refused(f"expected Variable or None (got {type(tangent).__name__}) for grad output {place}.")
        output = outputs.outputs[place]
        if not isinstance(output, Tensor) or output.array.dtype.kind != "f" or id(output) in outputs.undifferentiable:
            if tangent is not None:
                raise _refused(
                    f"Function's jvp returned a gradient at position {place}, but  the corresponding forward output is not a "
                    "differentiable Tensor.You should return None at that position instead."
                )
            return
        if tangent is None:
            raise _refused("Expected both tensor and its forward grad to be floating point or complex")
        given = self._source(output, tangents)
        if given is None:
            return
        if id(output) not in outputs.dirty:
            if tangent._base is None:
                raise _refused("A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.")
            if tangent._base is not (given if given._base is None else given._base):
                whose = "the given grad input" if given._base is None else "the same base as the given grad input"
                raise _refused(f"A custom Function is returning a view but the jvp is not returning a view of {whose}.")
            return
        start = "An inplace custom Function is not {} the forward mode gradients {}. If the forward is modifying an input inplace, "
        if tangent.counter.version == next(then for one, then in zip(tangents, versions, strict=True) if one is given):
            start = start.format("modifying", "inplace")
            raise _refused(start + "then the jvp function must modify the corresponding gradient inplace.")
        if tangent is not given:
            start = start.format("returning", "as-is")
            raise _refused(start + "then the jvp function must modify the gradient inplace and return it as-is.")

    def _source(self, output: Tensor, tangents: list[Any]) -> Any:
        """Return the tangent of the argument that an output is, or is a view of; None where there is no such."""
        for one, tangent in zip(self.args, tangents, strict=True):
            if tangent is not None and (one is output or (output._base is not None and (output._base is one or output._base is one._base))):
                return tangent
        return None


def _refused(message: str) -> Exception:
    return fail("other", message)
