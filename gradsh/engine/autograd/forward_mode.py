"""Forward mode: how the tangents of an operation's results follow from those of its inputs.

No record says more for it than it says for backward. A record's formulas are linear in the gradient `u` of the results, so a pass
through what they compute of `u` gives back what multiplies it: the Jacobian times the tangents. Where an operation works
element by element, its formula multiplies by the very derivative that the tangent needs. A view of a tensor has the same
view of its tangent. All this is done by operations, so tangents have graphs and, within outer levels, tangents of their own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.autograd.backward import grad
from gradsh.engine.dispatch.op_node import build_node, keep, keep_array, save_inputs, save_results
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.dispatch.tangents import Level, beneath, levels, put, set_tangent, tangent_of
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.schema.overload import Overload
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail

_REFUSED = (
    "Trying to use forward AD with {} that does not support it because it has not been implemented yet.\nPlease file an issue to "
    "PyTorch at https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its "
    "implementation or submit a PR adding the implementation to derivatives.yaml.\nNote that forward AD support for some operators "
    "require PyTorch to be built with TorchScript and for JIT to be enabled. If the environment var PYTORCH_JIT=0 is set or if the "
    "library is not built with TorchScript, some operators may no longer be used with forward AD."
)


def follow(record: Overload, values: list[object], outputs: object, made: object) -> None:
    """Give the results of an operation, `made` of the kernel's outputs, their tangents."""
    results = made if isinstance(made, (tuple, list)) else (made,)
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    for level in levels():
        tangents = _tangents_of_inputs(record, values, level)
        if any(one is not None for one in tangents):
            with beneath(level):
                found = _Step(record, values, outputs, tangents).run(results)
            for result, tangent in zip(results, found, strict=True):
                if tangent is not None:
                    set_tangent(result, level, tangent)


def follow_view(record: Overload, values: list[Any], made: Any) -> None:
    """Give views the same views of their base's tangent."""
    for level in levels():
        tangent = tangent_of(values[0], level)
        if tangent is None:
            continue
        with beneath(level):
            found = Operation.run(record, [tangent, *values[1:]])
        many = isinstance(made, (tuple, list))
        for result, one in zip(made if many else (made,), found if many else (found,), strict=True):
            put(result, level, one)


def reshape_tangents(record: Overload, values: list[Any]) -> None:
    """Change the geometry of a tensor's tangents as that of the tensor is about to be changed in place."""
    for level in levels():
        tangent = tangent_of(values[0], level)
        if tangent is not None:
            with beneath(level):
                Operation.run(record, [tangent, *values[1:]])


def follow_write(record: Overload, values: list[Any], outputs: object) -> Callable[[], None]:
    """Look at an operation in place before it writes; return what gives the target its tangents once it has written."""
    target = values[0]
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    steps: list[tuple[Level, Any]] = []
    for level in levels():
        tangents = _tangents_of_inputs(record, values, level)
        if any(one is not None for one in tangents) or tangent_of(target, level) is not None:
            with beneath(level):
                step = _Step(record, values, outputs, tangents)
                steps.append((level, step if record.plan.keeps_results else step.run((target,))))

    def finish() -> None:
        for level, step in steps:
            with beneath(level):
                found: list[Tensor | None] = step.run((target,)) if isinstance(step, _Step) else step
            if found[0] is not None:
                set_tangent(target, level, found[0], written=True)

    return finish


def _inputs(record: Overload, values: list[object]) -> list[object]:
    """Return the inputs that the record differentiates by (all, where it refuses tangents), those of lists one by one."""
    places = (values[place] for place in (record.tensors or () if record.forward_mode == "refused" else record.plan.edges))
    return [one for value in places for one in (value if type(value) is list else (value,))]


def _tangents_of_inputs(record: Overload, values: list[object], level: Level) -> list[Tensor | None]:
    if not record.grads:
        return []
    inputs = _inputs(record, values)
    return [tangent_of(one, level) if isinstance(one, Tensor) and one.array.dtype.kind == "f" else None for one in inputs]


def _stand_in(value: object, followed: set[int]) -> object:
    if type(value) is list:
        return [_stand_in(one, followed) for one in value]
    return make(value.array, id(value) in followed) if isinstance(value, Tensor) else value


def _zeros(tensor: Tensor) -> Tensor:
    return make(np.zeros_like(tensor.array))


class _Step:
    """One operation at one level: a node of its own, in which the inputs with tangents count as those that need gradients."""

    __slots__ = ("node", "outputs", "record", "tangents", "values")

    def __init__(self, record: Overload, values: list[object], outputs: Any, tangents: list[Tensor | None]) -> None:
        if not record.node and record.grads:
            raise fail("other", f"Trying to use forward AD with aten::{record.name} that does not support it.", NotImplementedError)
        if record.forward_mode == "refused":
            raise fail("other", _REFUSED.format(record.name), NotImplementedError)
        inputs = _inputs(record, values)
        followed = {id(one) for one, tangent in zip(inputs, tangents, strict=True) if tangent is not None} if tangents else set()
        self.record, self.values, self.tangents = record, values, tangents
        self.outputs: list[Any] = [None if one is None else np.asarray(one) for one in outputs]
        if record.forward_mode != "linear":
            self.node = build_node(record, [_stand_in(value, followed) for value in values], self.outputs)
            old = record.kind == "inplace" and any(save.param == 0 for save in record.plan.saves)
            save_inputs(self.node, values, find("clone")(values[0]) if old else None)

    def run(self, results: Any) -> list[Tensor | None]:
        """Return the tangents of the results."""
        followed = [isinstance(one, Tensor) and one.array.dtype.kind == "f" for one in results]
        if not any(followed) or not any(one is not None for one in self.tangents):
            return [_zeros(one) if f else None for one, f in zip(results, followed, strict=True)]
        if self.record.forward_mode == "linear":
            return [self._of_tangents()]
        count = len(results)
        save_results(self.node, lambda n: keep(results[n]) if n < count else keep_array(self.outputs[n]))
        if self._is_elementwise(results[followed.index(True)].array):
            return [self._apart(self._products())]
        ones = [make(np.ones_like(one.array), True) if f else None for one, f in zip(results, followed, strict=True)]
        return list(map(self._apart, self._pulled(ones)))

    def _apart(self, tangent: Any) -> Any:
        """Return a tangent, copied where it would share memory with that of an input, which a write in place would change."""
        if tangent is not None and any(one is not None and np.may_share_memory(one.array, tangent.array) for one in self.tangents):
            return find("clone")(tangent)
        return tangent

    def _of_tangents(self) -> Any:
        """Return what the operation makes of the tangents, and of zeros for inputs without one."""
        given, tangents = list(self.values), iter(self.tangents)
        zeros: Any = find("zeros_like")
        for place in self.record.plan.edges:
            tangent = next(tangents)
            given[place] = zeros(given[place]) if tangent is None else tangent
        if self.record.kind == "inplace":
            given[0] = find("clone")(given[0])
        return Operation.run(self.record, given)

    def _is_elementwise(self, result: Array) -> bool:
        record = self.record
        return record.forward_mode == "elementwise" or (
            record.ufunc is not None and record.plan.edges == record.tensors and not record.plan.asked and all(
                one is None or (one.array.shape == result.shape and one.array.dtype == result.dtype) for one in self.tangents
            )
        )

    def _products(self) -> Tensor:
        """Return the sum of the tangents times the derivatives."""
        slots = [slot for slot, one in enumerate(self.tangents) if one is not None]
        edges = range(len(self.tangents))
        parts = [self.node.run([self.tangents[slot]], tuple(place == slot for place in edges))[slot] for slot in slots]
        return sum(parts[1:], parts[0])  # type: ignore[no-any-return]

    def _pulled(self, probes: list[Any]) -> list[Tensor | None]:
        """Return the gradients, by the probes, of what the formulas compute of these, for the tangents as cotangents."""
        needs = tuple(one is not None for one in self.tangents)
        with grad_mode(True):
            pulled = self.node.run([*probes, *[None] * (len(self.outputs) - len(probes))], needs)
        pairs = [(a, b) for a, b in zip(pulled, self.tangents, strict=True) if b is not None and a is not None and a.requires_grad]
        wanted = [one for one in probes if one is not None]
        found: Any = [None] * len(wanted)
        if pairs:
            pulled, tangents = zip(*pairs, strict=True)
            found = grad(pulled, wanted, tangents, create_graph=current().grad_enabled, allow_unused=True)
        filled = iter([_zeros(one) if a is None else a for a, one in zip(found, wanted, strict=True)])
        return [None if one is None else next(filled) for one in probes]
