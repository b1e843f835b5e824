"""The node of a recorded operation: its edges, what it saves of inputs and results, and how it runs its record's derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch import unpack as _unpack  # noqa: F401  (the methods of nodes)
from gradsh.engine.dispatch.saved_hooks import pack_entries
from gradsh.engine.graph.node import OUT_OF_ORDER, Edge, Node, intern_descriptor, next_sequence_number
from gradsh.engine.graph.saved import FreedVariables, SavedVariable
from gradsh.engine.graph.tensor import Tensor, gradient_edge, make
from gradsh.engine.registry import find
from gradsh.engine.schema.overload import Overload
from gradsh.engine.values.dtype import Array, of_numpy
from gradsh.engine.values.layout import COMPUTED_BY_ELEMENTS, is_turned
from gradsh.engine.values.reduced import cast, is_reduced
from gradsh.engine.values.shape import expandable, sum_axes, sum_to
from gradsh.engine.values.storage import VersionCounter
from gradsh.text.fault import fail

NUMBER = False
"""The `edge` of a kept Python number: restored as the number itself, so that it stays a weak scalar."""
_NONE = ((0,), np.dtype(np.float32))

def _unsigned(value: object) -> object:
    """Return a dim or extent as PyTorch's attributes show it: a negative one wraps around, as of 64 bits."""
    if type(value) is int and value < 0:
        return value + (1 << 64)
    return tuple(map(_unsigned, value)) if type(value) is tuple else value


class OpNode(Node):
    """The node of a recorded operation: runs the derivatives of its record."""

    __slots__ = ("record", "spans", "values")

    record: Overload
    values: dict[str, Any]
    """Arguments that are no tensors, and the sizes that derivatives ask for."""
    spans: tuple[tuple[int, int], ...] | None
    """Where inputs are lists: for each differentiable parameter, its stretch of the edges."""

    def name(self) -> str:
        """Return PyTorch's name of the node."""
        return self.record.node or "torch::autograd::NotImplemented"

    @property
    def runs_first(self) -> bool:  # type: ignore[override]
        """Whether the operation has no derivative: PyTorch gives its node the highest number."""
        return not self.record.node

    def saved_names(self) -> Sequence[str]:
        """Return the names of what the node may save."""
        return self.record.plan.names

    def packing_order(self) -> Sequence[int]:
        """Return the order in which saved tensors go to a pack hook."""
        return self.record.plan.order

    def attributes(self) -> dict[str, object]:
        """Return the saved values that are no tensors."""
        shown = self.record.plan.shown
        return {shown[name]: value for name, value in self.values.items() if name in shown}

    def restore(self, kept: SavedVariable, index: int, as_tensor: bool) -> object:
        """Return one kept tensor; a kept Python number comes back as the number."""
        if kept.edge is NUMBER and kept.array is not None:
            return kept.array.item()
        return super().restore(kept, index, as_tensor)

    def _saved_attribute(self, name: str) -> object:
        names = self.record.plan.names
        if name in names and type(self.entries) is tuple:
            entry = self.entries[names.index(name)]
            if entry is not None and type(entry) is not list and entry.edge is NUMBER:
                return make(entry.array)
        found = super()._saved_attribute(name)
        place = self.record.signature.index.get(name)
        scalar = place is not None and self.record.signature.params[place].type in {"number", "Operand"}
        return found if scalar else _unsigned(found)

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Return the gradients of the inputs by the record's formulas."""
        if not self.record.node:
            raise fail("other", f"derivative for aten::{self.record.name} is not implemented", node=self)
        as_tensor = any(isinstance(grad, Tensor) for grad in grads)
        saved = self._saved(as_tensor) if self.raw else {}
        results: list[object] = [None] * len(self.edges)
        spans = self.spans
        for targets, formula, calls, many in self.record.plan.formulas:
            if spans is None:
                wanted = tuple(needs[target] for target in targets)
            else:
                wanted = tuple(any(needs[slice(*spans[target])]) for target in targets)
            if not any(wanted):
                continue
            if formula is None:
                message = f"the derivative for '{self.record.name}' is not implemented."
                raise fail("other", message, NotImplementedError, node=self)
            arguments = [
                saved[call[1]] if saved and call[0] == "saved" else self._argument(call, grads, wanted, as_tensor) for call in calls
            ]
            found = formula(*arguments)
            for target, grad in zip(targets, found if many else (found,), strict=True):
                if spans is None:
                    if needs[target] and grad is not None:
                        results[target] = self._fit(grad, target, as_tensor)
                    continue
                start, end = spans[target]
                for place, one in enumerate(grad, start):
                    if place < end and needs[place] and one is not None:
                        results[place] = self._fit(one, place, as_tensor)
        return results

    def differs_on_arrays(self, grads: list[object]) -> bool:
        """Whether the formulas, on arrays, would give other results than the operations that they name.

        That is so where they read numbers of reduced precision, which operations round at each step; and where they compute
        element by element and read an array out of row-major order: on operands that disagree numpy chooses another order than PyTorch.
        """
        if any(isinstance(grad, Tensor) for grad in grads):
            return False
        read = (*grads, *self.saved_arrays())
        return any(map(is_reduced, read)) or (self.record.layout in COMPUTED_BY_ELEMENTS and any(map(is_turned, read)))

    def saved_arrays(self) -> list[object]:
        """Return the arrays that are saved as they are; other things may be among them."""
        if type(self.raw) is not tuple:
            return []
        return [
            one.array for entry in self.raw for one in (entry if type(entry) is list else (entry,)) if type(one) is SavedVariable
        ]

    def _saved(self, as_tensor: bool) -> dict[int, object]:
        """Check what was saved; where a hook has packed some of it, return all of it, each unpacked once."""
        entries = self.raw
        if type(entries) is tuple and any(
            one is not None and one.packed is not None
            for entry in entries for one in (entry if type(entry) is list else (entry,))
        ):
            return {index: self.unpack(index, as_tensor) for index in self.record.plan.order}
        self._check_saved()
        return {}

    def _check_saved(self) -> None:
        """Refuse to run on anything freed or modified, also where the wanted gradients do not read it, as PyTorch does."""
        entries = self.entries
        if type(entries) is FreedVariables:
            for index in self.record.plan.order:
                if entries.shapes[index] is not None:
                    self.unpack(index, as_tensor=False)
            return
        for index in self.record.plan.order:
            entry = entries[index]
            if entry is None:
                continue
            for one in entry if type(entry) is list else (entry,):
                if one is not None and one.packed is None and one.counter.version != one.version:
                    raise self.modified(one, index)

    def _argument(
        self, call: tuple[str, Any], grads: Sequence[object], wanted: tuple[bool, ...], as_tensor: bool
    ) -> Any:
        what, detail = call
        if what == "grad":
            return grads[0]
        if what == "saved":
            return self.unpack(detail, as_tensor)
        if what == "value":
            return self.values[detail]
        if what == "output":
            return grads[detail]
        return grads if what == "grads" else wanted

    def _fit(self, grad: object, target: int, as_tensor: bool) -> object:
        return self._fit_to(self.edges[target], grad, target, as_tensor)

    def _fit_to(self, edge: Any, grad: object, target: int, as_tensor: bool) -> object:
        """Bring a gradient to the shape and dtype of its input, undoing broadcasting and promotion."""
        shape, dtype = edge[0].outputs[edge[1]] if type(edge) is tuple else edge.outputs[0]
        if as_tensor:
            if not isinstance(grad, Tensor):
                grad = make(np.asarray(grad))
            if grad.array.shape != shape:
                if not expandable(shape, grad.array.shape):
                    raise invalid_gradient(self, target, grad.array.shape, shape)
                grad = sum_tensor_to(grad, shape)
            if grad.array.dtype != dtype:
                grad = find("to")(grad, of_numpy(dtype))
            return grad
        if type(grad) is not np.ndarray:
            grad = np.asarray(grad)
        if grad.shape != shape:
            if not expandable(shape, grad.shape):
                raise invalid_gradient(self, target, grad.shape, shape)
            grad = sum_to(grad, shape)
        return grad if grad.dtype == dtype else cast(grad, dtype)


def invalid_gradient(node: Node, target: int, got: tuple[int, ...], shape: tuple[int, ...]) -> Exception:
    """Return the error for a gradient that does not fit its input."""
    message = (
        f"Function {node.name()} returned an invalid gradient at index {target} - got {list(got)} but expected shape "
        f"compatible with {list(shape)}"
    )
    return fail("grad_shape", message, node=node)


def sum_tensor_to(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sum a Tensor down to a shape, as recorded operations."""
    if not shape:
        return find("sum")(grad)  # type: ignore[no-any-return]
    axes = sum_axes(grad.array.shape, shape)
    if axes:
        grad = find("sum")(grad, axes, True)
    return grad if grad.array.shape == shape else find("view")(grad, shape)


def _edges(record: Overload, values: list[Any]) -> tuple[tuple[Edge | None, ...], object]:
    """Return the edges, and the stretches of list inputs (None without lists)."""
    edges: list[Edge | None] = []
    spans: list[tuple[int, int]] = []
    lists = False
    for place in record.plan.edges:
        value = values[place]
        start = len(edges)
        many = type(value) is list
        lists = lists or many
        for one in value if many else (value,):
            if isinstance(one, Tensor):
                edges.append(gradient_edge(one) if one.array.dtype.kind == "f" else None)
            else:
                edges.append(None)
        spans.append((start, len(edges)))
    return tuple(edges), tuple(spans) if lists else None


def _edge(value: object) -> Edge | None:
    if isinstance(value, Tensor) and value.array.dtype.kind == "f":
        origin = value.grad_fn_ref
        return (origin, 0) if value.meta is None and isinstance(origin, Node) else gradient_edge(value)
    return None


_new = object.__new__


def build_node(record: Overload, values: list[Any], outputs: Sequence[Array]) -> OpNode:
    """Give birth to the node of an operation whose kernel has run; entries of results are added by the caller."""
    plan = record.plan
    spans: Any = None
    if plan.lists:
        edges, spans = _edges(record, values)
    else:
        edges = tuple([_edge(values[place]) for place in plan.edges])
    if not record.node:  # PyTorch's node for a missing derivative has edges to what needs gradients only
        edges = tuple(edge for edge in edges if edge is not None)
        current().flags[OUT_OF_ORDER] = True
    node = _new(OpNode)
    node.edges = edges
    if len(outputs) == 1 and outputs[0] is not None:
        node.outputs = intern_descriptor(outputs[0].shape, outputs[0].dtype)
    else:
        node.outputs = tuple(_NONE if one is None else (one.shape, one.dtype) for one in outputs)
    node.raw = ()
    node.extra = None
    node.seq = next_sequence_number()
    ambient = current()
    node.location = None if ambient.locate is None else ambient.locate()
    node.record = record
    node.spans = spans
    context: dict[str, object] = {name: values[place] for name, place in plan.value_names}
    for name, place, what, slot in plan.asked:
        if what == "strides" and edges[slot] is None:
            context[name] = ()
        else:
            context[name] = size_of(values[place], what)
    node.values = context
    if ambient.anomaly is not None:
        ambient.anomaly[1](node)
    return node


def size_of(value: object, what: str) -> object:
    """Return what a formula asks of an input without saving it: its sizes, strides, number of elements, …"""
    if type(value) is list:
        return [size_of(one, what) for one in value]
    if not isinstance(value, Tensor):
        return () if what == "sizes" else (0,) if what == "optsizes" else None
    array = value.array
    if what in {"sizes", "optsizes"}:
        return array.shape
    if what.startswith("argsize"):
        return array.shape[int(what[7]) if len(what) == 8 else -int(what[7])]
    if what == "strides":
        return value.stride()
    if what == "dim":
        return array.ndim
    if what == "offset":
        return value.storage_offset()
    return array.size if what == "numel" else array.dtype


def save_inputs(node: OpNode, values: list[object], old: Tensor | None = None) -> None:
    """Keep the inputs that the derivatives read; `old` holds the former content of what an in-place form writes."""
    saves = node.record.plan.saves
    if not saves:
        return
    entries: list[Any] = []
    for save in saves:
        if save.output >= 0 or (save.guard and not any(_guarded(node, slot) for slot in save.guard)):
            entries.append(None)
            continue
        value = values[save.param] if old is None or save.param != 0 else old
        if type(value) is list:
            entries.append([None if one is None else keep(one) for one in value])
        else:
            entries.append(keep(value))
    node.entries = tuple(entries)
    if current().saved_hooks:
        pack_entries(node)


def _guarded(node: OpNode, guard: int) -> bool:
    if node.spans is not None:
        return any(edge is not None for edge in node.edges[slice(*node.spans[guard])])
    return node.edges[guard] is not None


def save_results(node: OpNode, kept: Callable[[int], object]) -> None:
    """Keep the outputs that the derivatives read; `kept(n)` gives the entry of output n."""
    saves = node.record.plan.saves
    if not any(save.output >= 0 for save in saves):
        return
    entries = list(node.entries)
    if not entries:
        entries = [None] * len(saves)
    for slot, save in enumerate(saves):
        if save.output >= 0:
            entries[slot] = kept(save.output)
    node.entries = tuple(entries)
    if current().saved_hooks:
        pack_entries(node)


def tangents_to_save(tensor: Tensor) -> object:
    """Return what a saved tensor takes along where forward mode is on."""
    if not current().saved_hooks:
        return None
    from gradsh.engine.dispatch.tangents import tangents_held

    return tangents_held(tensor)


def keep(value: Any) -> SavedVariable | None:
    """Keep a tensor, or a Python number as a 0-d entry of its own (float64, or int64 where it is one)."""
    if isinstance(value, Tensor):
        edge: Any = gradient_edge(value)
        if edge is None and value.meta is not None and value.meta.view is not None and value.requires_grad:
            edge = value.meta.view.creation  # a view made before its base required grad, or in a mode that records nothing
        return SavedVariable(value.array, value.counter, value.counter.version, edge, None, tangents_to_save(value))
    if value is None:
        return None
    wide = np.bool_ if isinstance(value, bool) else np.int64 if isinstance(value, int) and value < 1 << 63 else np.float64
    return SavedVariable(np.asarray(value, wide), VersionCounter(), 0, NUMBER)


def keep_array(array: Array) -> SavedVariable:
    """Keep an array that only the graph holds."""
    return SavedVariable(array, VersionCounter(), 0, None)
