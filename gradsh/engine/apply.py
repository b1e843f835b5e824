"""Running an operation: dtypes, kernel, and the only place where an operation's node is born."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import Ambient, current
from gradsh.engine.dtype import Array, number_dtype, of_numpy, result_type
from gradsh.engine.layout import laid
from gradsh.engine.node import Edge, Freed, Kept, Node
from gradsh.engine.overlap import check_apart, check_distinct
from gradsh.engine.record import DECLINED, KEEP, Record, SavePlan
from gradsh.engine.shape import broadcast_shapes, expandable, sum_to
from gradsh.engine.storage import VersionCounter
from gradsh.engine.tensor import Tensor, gradient_edge, make, make_result
from gradsh.engine.view import check_inplace, is_tracked, rebase, reshaped, view_of
from gradsh.text.fault import fail, fault_of

np.seterr(all="ignore")  # infinities and nans are results here, as in PyTorch, and errstate per operation costs 0.6 us

NUMBER = False
"""The `edge` of a kept Python number: restored as the number itself, so that it stays a weak scalar."""


def run_record(record: Record, values: list[Any]) -> Any:
    """Run one overload on bound values. Plain arrays (within a derivative) give plain arrays, Tensors give Tensors."""
    record.signature  # noqa: B018  (parsed on first use)
    tensors = record.tensors or ()
    found = False
    for place in tensors:
        value = values[place]
        if isinstance(value, Tensor) or (type(value) is list and any(isinstance(one, Tensor) for one in value)):
            found = True
            break
    kind = record.kind
    if kind == "composite":
        return record.forward(*values)
    if not found:
        return _run_plain(record, values)
    for place in tensors:
        _lift(values, place)
    if kind == "inplace":
        return _run_inplace(record, values)
    if kind == "geometry":
        return _run_geometry(record, values)
    arrays = _arrays(record, values)
    if kind == "view":
        if values[0].meta is not None and current().grad_enabled:
            gradient_edge(values[0])  # a view that could not follow a write is refused before its geometry is looked at
        return _wrap_views(record, values, record.forward(*arrays))
    ambient = current()
    if ambient.check is not None:
        ambient.check(0)
    outputs = _compute(record, arrays)
    if record.layout:
        outputs = laid(record.layout, outputs, arrays)
    return _wrap(record, values, outputs, ambient)


def _lift(values: list[Any], place: int) -> None:
    """Make Tensors of plain arrays that stand among Tensors (constants within a recorded derivative)."""
    value = values[place]
    if isinstance(value, (np.ndarray, np.generic)):
        values[place] = make(np.asarray(value))
    elif type(value) is list:
        values[place] = [make(np.asarray(one)) if isinstance(one, (np.ndarray, np.generic)) else one for one in value]


def _run_plain(record: Record, values: list[Any]) -> Any:
    given = [values[place] for place in record.tensors or ()]
    if not any(isinstance(value, (np.ndarray, np.generic, list)) for value in given):  # numbers alone: torch.add(1, 2)
        default = current().default_dtype
        lifted = list(values)
        done = False
        for place in record.tensors or ():
            if isinstance(lifted[place], (int, float)):
                lifted[place] = make(np.asarray(lifted[place], number_dtype(lifted[place], default)))
                done = True
        if done:
            return run_record(record, lifted)
        arrays = _arrays(record, values)
        outputs = record.forward(*arrays)
        return _wrap(record, values, outputs, current())
    outputs = record.forward(*_arrays(record, values))
    if type(outputs) is tuple and record.returns is not None:
        return outputs[0] if record.returns == 1 else outputs[: record.returns]
    return outputs


def _arrays(record: Record, values: list[Any]) -> list[Any]:
    """Return the kernel's arguments: arrays for tensors, at the dtype that the record's policy asks for."""
    arrays = list(values)
    for place in record.tensors or ():
        value = values[place]
        if isinstance(value, Tensor):
            arrays[place] = value.array
        elif type(value) is list:
            arrays[place] = [one.array if isinstance(one, Tensor) else one for one in value]
        elif isinstance(value, np.generic):
            arrays[place] = np.asarray(value)
    if record.check is not None:
        record.check(*arrays)
    policy = record.dtypes
    if policy != "keep":
        _unify(record, values, arrays, policy)
    return arrays


def _compute(record: Record, arrays: list[Any]) -> Any:
    """Run the kernel; numpy's complaint about shapes becomes PyTorch's sentence."""
    try:
        return record.forward(*arrays)
    except ValueError as error:
        if "broadcast" in str(error) and fault_of(error) is None:
            shape: tuple[int, ...] = ()
            for place in record.tensors or ():
                if isinstance(arrays[place], np.ndarray):
                    shape = broadcast_shapes(shape, arrays[place].shape)
        raise


def _unify(record: Record, values: list[Any], arrays: list[Any], policy: str) -> None:
    places = record.tensors or ()
    operands: list[Array] = []
    numbers: list[Any] = []
    for place in places:
        each = arrays[place]
        for one in each if type(each) is list else (each,):
            if isinstance(one, np.ndarray):
                operands.append(one)
            elif one is not None:
                numbers.append(one)
    first: Any = operands[0].dtype if operands else None
    if policy == "same":
        _check_same(record, operands)
        return
    default = current().default_dtype
    common = result_type(operands, numbers, default) if numbers or any(one.dtype != first for one in operands) else first
    if policy == "float" and common.kind != "f":
        common = default
    for place in places:
        each = arrays[place]
        if type(each) is list:
            arrays[place] = [_cast(one, common) for one in each]
        elif each is not None:
            arrays[place] = _cast(each, common)


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.dtype == dtype else value.astype(dtype)
    return np.asarray(value).astype(dtype)


_CPP_NAMES = {"Long": "long int", "Short": "short int", "Char": "signed char", "Byte": "unsigned char"}


def _check_same(record: Record, operands: Sequence[Array]) -> None:
    names = [of_numpy(one.dtype).title for one in operands]
    for index, name in enumerate(names):
        if name != names[0]:
            message = _different(record.name, index, names)
            raise fail("dtype", message, RuntimeError, operation=record.name)


def _different(operation: str, index: int, names: list[str]) -> str:
    """Return PyTorch's sentence for operands of different dtypes, of which the one at `index` is the first."""
    a, b = names[0], names[index]
    match operation:
        case "mm":
            return f"expected m1 and m2 to have the same dtype, but got: {_CPP_NAMES.get(a, a.lower())} != {_CPP_NAMES.get(b, b.lower())}"
        case "addmm" if names[1] != names[2]:
            return f"mat1 and mat2 must have the same dtype, but got {names[1]} and {names[2]}"
        case "addmm":
            return f"self and mat2 must have the same dtype, but got {a} and {names[2]}"
        case "mv":
            return f"addmv input tensors must have the same dtype, but got {b}, {a}, and {b}"
        case "addmv":
            return f"addmv input tensors must have the same dtype, but got {', '.join(names[:2])}, and {names[2]}"
        case "dot":
            return f"dot : expected both vectors to have same dtype, but found {a} and {b}"
    return f"expected scalar type {a} but found {b}"


_SHOWN = {
    "sizes": "sym_sizes", "numel": "sym_numel", "strides": "sym_strides", "optsizes": "sym_sizes_opt",
    "argsize0": "sym_argsize_0", "argsize1": "sym_argsize_1", "argsize2": "sym_argsize_2",
    "argsize1m": "sym_argsize_minus_1", "argsize2m": "sym_argsize_minus_2",
}
"""How PyTorch's attributes spell what a formula asks of an input: `_saved_self_sym_sizes`."""


def _shown(name: str) -> str:
    source, _, what = name.rpartition("_")
    return f"{source}_{_SHOWN[what]}" if what in _SHOWN else name


# --- building nodes ---------------------------------------------------------------------------------------------


class OpNode(Node):
    """The node of a recorded operation: runs the derivatives of its record."""

    __slots__ = ("record", "spans", "values")

    record: Record
    values: dict[str, Any]
    """Arguments that are no tensors, and the sizes that derivatives ask for."""
    spans: tuple[tuple[int, int], ...] | None
    """Where inputs are lists: for each differentiable parameter, its stretch of the edges."""

    def name(self) -> str:
        """Return PyTorch's name of the node."""
        return self.record.node or "torch::autograd::NotImplemented"

    def saved_names(self) -> Sequence[str]:
        """Return the names of what the node may save."""
        return self.record.plan.names

    def spread(self, raw: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return flat entries as a tuple of `Kept`."""
        return tuple(
            self._spread_one(save, *raw[1 + 3 * place : 4 + 3 * place]) for place, save in enumerate(self.record.plan.saves)
        )

    def _spread_one(self, save: SavePlan, array: Any, counter: Any, version: int) -> Kept | None:
        if array is None:
            return None
        if counter is None:
            return keep(array)
        edge: Any = save.output if save.output >= 0 else self.edges[self.record.plan.edges.index(save.param)]
        return Kept(array, counter, version, edge)

    def attributes(self) -> dict[str, Any]:
        """Return the saved values that are no tensors."""
        record = self.record
        chosen: Any = record.plan.attributes if record.attributes is None else record.attributes
        return {
            _shown(name) if name in record.plan.sizes else name: value
            for name, value in self.values.items() if name in chosen and not name.endswith("_dtype")
        }

    def restore(self, kept: Kept, index: int, as_tensor: bool) -> Any:
        """Return one kept tensor; a kept Python number comes back as the number."""
        if kept.edge is NUMBER and kept.array is not None and not (as_tensor and self._asked(kept)):
            return kept.array.item()
        return super().restore(kept, index, as_tensor)

    def _asked(self, kept: Kept) -> bool:
        return False

    def _saved_attribute(self, name: str) -> Any:
        names = self.record.plan.names
        if name in names and type(self.entries) is tuple:
            entry = self.entries[names.index(name)]
            if entry is not None and type(entry) is not list and entry.edge is NUMBER:
                return make(entry.array)
        return super()._saved_attribute(name)

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Return the gradients of the inputs by the record's formulas."""
        if len(grads) == 1 and self.spans is None:
            quick = self.record.quick_run
            if quick is not None and type(grads[0]) is np.ndarray:
                found = quick(self, grads[0], needs, KEEP)
                if found is not DECLINED:
                    return found  # type: ignore[no-any-return]
        if not self.record.node:
            message = f"derivative for aten::{self.record.name} is not implemented"
            raise fail("other", message, RuntimeError, node=self)
        if self.raw:
            self._check_saved()
        results: list[Any] = [None] * len(self.edges)
        as_tensor = any(isinstance(grad, Tensor) for grad in grads)
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
            arguments = [self._argument(call, grads, wanted, as_tensor) for call in calls]
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

    def _check_saved(self) -> None:
        """Refuse to run on anything freed or modified, also where the wanted gradients do not read it, as PyTorch does."""
        entries = self.entries
        if type(entries) is Freed:
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

    def _argument(self, call: tuple[str, Any], grads: list[Any], wanted: tuple[bool, ...], as_tensor: bool) -> Any:
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

    def _fit(self, grad: Any, target: int, as_tensor: bool) -> Any:
        """Bring a gradient to the shape and dtype of its input, undoing broadcasting and promotion."""
        edge = self.edges[target]
        assert edge is not None
        shape, dtype = edge[0].outputs[edge[1]]
        if as_tensor:
            if not isinstance(grad, Tensor):
                grad = make(np.asarray(grad))
            if grad.array.shape != shape:
                grad = sum_tensor_to(grad, shape)
            if grad.array.dtype != dtype:
                from gradsh.engine.op import find

                grad = find("to")(grad, of_numpy(dtype))
            return grad
        if type(grad) is not np.ndarray:
            grad = np.asarray(grad)
        if grad.shape != shape:
            if not expandable(shape, grad.shape):
                raise invalid_gradient(self, target, grad.shape, shape)
            grad = sum_to(grad, shape)
        return grad if grad.dtype == dtype else grad.astype(dtype)


def invalid_gradient(node: Node, target: int, got: tuple[int, ...], shape: tuple[int, ...]) -> Exception:
    """Return the error for a gradient that does not fit its input."""
    message = (
        f"Function {node.name()} returned an invalid gradient at index {target} - got {list(got)} but expected shape "
        f"compatible with {list(shape)}"
    )
    return fail("grad_shape", message, RuntimeError, node=node)


def sum_tensor_to(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sum a Tensor down to a shape, as recorded operations."""
    from gradsh.engine.op import find
    from gradsh.engine.shape import sum_axes

    if not shape:
        return find("sum")(grad)  # type: ignore[no-any-return]
    axes = sum_axes(grad.array.shape, shape)
    if axes:
        grad = find("sum")(grad, axes, True)
    return grad if grad.array.shape == shape else find("view")(grad, shape)


def _needs_graph(record: Record, values: list[Any], ambient: Ambient) -> bool:
    if not ambient.grad_enabled or not record.grads:
        return False
    for place in record.plan.edges:
        value = values[place]
        if type(value) is list:
            if any(is_tracked(one) for one in value):
                return True
        elif isinstance(value, Tensor) and is_tracked(value):
            return True
    return False


def _edges(record: Record, values: list[Any]) -> tuple[tuple[Edge | None, ...], Any]:
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


_NONE = ((0,), np.dtype(np.float32))


def build_node(record: Record, values: list[Any], outputs: Sequence[Array]) -> OpNode:
    """Give birth to the node of an operation whose kernel has run; entries of results are added by the caller."""
    edges, spans = _edges(record, values)
    if not record.node:  # PyTorch's node for a missing derivative has edges to what needs gradients only
        edges = tuple(edge for edge in edges if edge is not None)
    node = OpNode.__new__(OpNode)
    Node.__init__(node, edges, tuple(_NONE if one is None else (one.shape, one.dtype) for one in outputs))
    node.record = record
    node.spans = spans
    plan = record.plan
    context: dict[str, Any] = {name: values[place] for name, place in plan.value_names}
    for name, place, what, slot in plan.asked:
        if what == "strides" and edges[slot] is None:
            context[name] = ()
        else:
            context[name] = _size_of(values[place], what)
    node.values = context
    return node


def _size_of(value: Any, what: str) -> Any:
    if type(value) is list:
        return [_size_of(one, what) for one in value]
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


def save_inputs(node: OpNode, values: list[Any], old: Tensor | None = None) -> None:
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
        from gradsh.engine.saved_hooks import pack_entries

        pack_entries(node)


def _guarded(node: OpNode, guard: int) -> bool:
    if node.spans is not None:
        return any(edge is not None for edge in node.edges[slice(*node.spans[guard])])
    return node.edges[guard] is not None


def save_results(node: OpNode, kept: Callable[[int], Any]) -> None:
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
        from gradsh.engine.saved_hooks import pack_entries

        pack_entries(node)


def keep(value: Any) -> Kept | None:
    """Keep a tensor, or a Python number as a 0-d entry of its own (float64 or int64)."""
    if isinstance(value, Tensor):
        return Kept(value.array, value.counter, value.counter.version, gradient_edge(value))
    if value is None:
        return None
    wide = np.bool_ if isinstance(value, bool) else np.int64 if isinstance(value, int) else np.float64
    return Kept(np.asarray(value, wide), VersionCounter(), 0, NUMBER)


def keep_array(array: Array, edge: Edge | None = None) -> Kept:
    """Keep an array that only the graph holds."""
    return Kept(array, VersionCounter(), 0, edge)


def _wrap(record: Record, values: list[Any], outputs: Any, ambient: Ambient) -> Any:
    """Make tensors of the kernel's outputs and, where a gradient is wanted, the node behind them."""
    many = type(outputs) is tuple or type(outputs) is list
    arrays = [_output(one) for one in outputs] if many else [_output(outputs)]
    visible = len(arrays) if record.returns is None else record.returns
    if not _needs_graph(record, values, ambient) or not any(
        one is not None and one.dtype.kind == "f" for one in arrays
    ):
        results: list[Any] = [None if one is None else make(one) for one in arrays[:visible]]
        return _deliver(record, results, many)
    node = build_node(record, values, arrays)
    save_inputs(node, values)
    results = []
    for place, one in enumerate(arrays):
        if one is None:
            results.append(None)
            continue
        differentiable = one.dtype.kind == "f" and (place == 0 or place < visible)
        results.append(make_result(one, node, place) if differentiable else make(one))
    save_results(node, lambda n: _keep_result(results[n], n, visible))
    return _deliver(record, results[:visible], many)


def _output(value: Any) -> Any:
    """Return an output of a kernel as an array; None is a gradient that nobody needs."""
    return value if type(value) is np.ndarray or value is None else np.asarray(value)


def _keep_result(result: Tensor, number: int, visible: int) -> Kept:
    edge: Any = number if result.tracked and number < visible else None
    return Kept(result.array, result.counter, result.counter.version, edge)


def _deliver(record: Record, results: list[Tensor], many: bool) -> Any:
    if not many or (record.returns == 1 and len(results) == 1):
        return results[0]
    if record.fields:
        from gradsh.engine.named import named_result

        return named_result(record.name, record.fields, results)
    return tuple(results)


def _wrap_views(record: Record, values: list[Any], outputs: Any) -> Any:
    """Make views of the first tensor input, sharing its memory and version counter."""
    base = values[0]
    many = type(outputs) is tuple or type(outputs) is list
    arrays = list(outputs) if many else [outputs]
    ambient = current()
    node = None
    if _needs_graph(record, values, ambient) and base.array.dtype.kind == "f":
        node = build_node(record, values, arrays)
        save_inputs(node, values)
    creation = "default" if ambient.grad_enabled else "no_grad"
    if record.multi_view and creation == "default":
        creation = "multi"
    views = [view_of(base, one, node, place, creation) for place, one in enumerate(arrays)]
    return tuple(views) if many else views[0]


def _run_inplace(record: Record, values: list[Any]) -> Tensor:
    """Write the kernel's result into the first argument, bump its version and put the node into its history."""
    target: Tensor = values[0]
    ambient = current()
    tracked = _needs_graph(record, values, ambient)
    if ambient.grad_enabled and (tracked or is_tracked(target)):
        check_inplace(target)
    arrays = _arrays(record, values)
    if not record.writes:
        check_distinct(target.array)
        check_apart(target.array, arrays[1:])
    outputs = _compute(record, arrays)
    first = outputs[0] if type(outputs) is tuple else outputs
    first = np.asarray(first)
    if not record.writes:
        _check_writable(target, first)
    node = None
    if tracked and target.array.dtype.kind == "f":
        node = build_node(record, values, [target.array])
        old = None
        saves = record.plan.saves
        if any(save.param == 0 and (
            not save.guard or any(node.edges[slot] is not None for slot in save.guard)
        ) for save in saves):
            from gradsh.engine.op import find

            old = find("clone")(target)
        save_inputs(node, values, old)
    if not record.writes:
        target.array[...] = first
    target.counter.bump(ambient.place())
    if node is not None:
        rebase(target, node)
        save_results(node, lambda n: Kept(target.array, target.counter, target.counter.version, 0) if n == 0
                     else keep_array(np.asarray(outputs[n])))
    return target


def _check_overlap(record: Record, target: Tensor, values: list[Any]) -> None:
    """Refuse to write over a part of an operand; the whole of it, or another part, may be written."""
    written = target.array
    for place in record.tensors or ():
        value = values[place]
        if value is target or not isinstance(value, Tensor) or value.counter is not target.counter:
            continue
        array = value.array
        dense = all(one.flags.c_contiguous or one.flags.f_contiguous for one in (array, written))
        same = array.shape == written.shape and array.strides == written.strides and value.data_ptr() == target.data_ptr()
        if dense and not same and np.may_share_memory(array, written):
            message = (
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                "memory location. Please clone() the tensor before performing the operation."
            )
            raise fail("other", message, RuntimeError, tensor=target)


def _run_geometry(record: Record, values: list[Any]) -> Tensor:
    """Give the first argument another geometry over its memory (`t_`, `squeeze_`, …): a write, though no element changes."""
    target: Tensor = values[0]
    ambient = current()
    tracked = _needs_graph(record, values, ambient)
    if tracked:
        check_inplace(target)
    array = record.forward(*_arrays(record, values))
    node = build_node(record, values, [array]) if tracked else None
    target.array = array
    target.counter.bump(ambient.place())
    if node is not None:
        reshaped(target, node)
    return target


def _check_writable(target: Tensor, result: Array) -> None:
    array = target.array
    if result.dtype != array.dtype and of_numpy(result.dtype).category > of_numpy(array.dtype).category:
        a, b = of_numpy(result.dtype).title, of_numpy(array.dtype).title
        message = f"result type {a} can't be cast to the desired output type {b}"
        raise fail("dtype", message, RuntimeError, tensor=target)
    if result.shape != array.shape and not expandable(result.shape, array.shape):
        message = (
            f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
        raise fail("shape", message, RuntimeError, tensor=target, shapes=(array.shape, result.shape))
