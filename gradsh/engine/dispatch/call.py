"""The general way through an operation: dtypes, kernel, node. It does everything; the fast paths are held to it."""

import weakref
from typing import Any

import numpy as np

from gradsh.engine.ambient import AUTOCAST, Ambient, current
from gradsh.engine.dispatch.cancellable import run_kernel
from gradsh.engine.dispatch.inference import inferring, marked
from gradsh.engine.dispatch.op_node import OpNode, build_node, keep_array, save_inputs, save_results, tangents_to_save
from gradsh.engine.dispatch.operand_dtypes import unify
from gradsh.engine.dispatch.saved_hooks import announce_write, dispatch
from gradsh.engine.dispatch.views import check_inplace, is_tracked, rebase, reshaped, view_of
from gradsh.engine.dispatch.widened_kernels import compute_reduced, holds_reduced
from gradsh.engine.graph.saved import SavedVariable
from gradsh.engine.graph.tensor import Tensor, gradient_edge, make, make_result, node_of
from gradsh.engine.registry import find
from gradsh.engine.schema.overload import Overload
from gradsh.engine.schema.signature import ArrayAmongTensors
from gradsh.engine.values.dtype import Array, number_dtype, of_numpy
from gradsh.engine.values.layout import laid, order_of
from gradsh.engine.values.overlap import check_apart, check_distinct, check_not_zeros, overlaps
from gradsh.engine.values.reduced import REDUCED, write
from gradsh.engine.values.shape import broadcast_shapes, check_written_shape
from gradsh.text.fault import fail, fault_of


def run_record(record: Overload, values: list[Any]) -> Any:
    """Run one overload on bound values. Plain arrays (within a derivative) give plain arrays, Tensors give Tensors."""
    tensors = record.tensors
    if tensors is None:
        record.signature  # noqa: B018  (parsed on first use)
        tensors = record.tensors or ()
    found = False
    for place in tensors:
        value = values[place]
        if isinstance(value, Tensor) or (type(value) is list and any(isinstance(one, Tensor) for one in value)):
            found = True
            break
    ambient = current()
    if ambient.saved_hooks and found and (autocast := ambient.flags.get(AUTOCAST)) is not None:
        converted = autocast.converted(record, values)
        if converted is not None:
            with autocast.off():
                return run_record(record, converted)
    kind = record.kind
    if kind == "composite":
        if found and any(isinstance(values[place], np.ndarray) for place in tensors):
            raise ArrayAmongTensors
        made = record.forward(*values)
        return marked(values, made) if ambient.saved_hooks else made
    if not found:
        return _run_plain(record, values)
    for place in tensors:
        if type(values[place]) is not Tensor:
            _check_operand(record, values, place)
    if kind == "inplace":
        return _run_inplace(record, values)
    if kind == "geometry":
        return _run_geometry(record, values)
    if ambient.grad_enabled and record.grads:
        _check_views(record, values)
    arrays = _arrays(record, values)
    reduced = holds_reduced(arrays, record.typed)
    if kind == "view":
        return _run_view(record, values, arrays, reduced)
    if ambient.check is not None:
        ambient.check(0)
    outputs = _recalled(record, values) if ambient.saved_hooks else None
    if outputs is None:
        outputs = _compute(record, arrays, reduced)
        if record.layout:
            outputs = laid(record.layout, outputs, arrays)
    made = wrap(record, values, outputs, ambient)
    if reduced:
        _step_with_care(made)
    if not ambient.saved_hooks:
        return made
    _forward_mode().follow(record, values, outputs, made)
    _told(record, values, outputs, made)
    return marked(values, made)


def _run_view(record: Overload, values: list[Any], arrays: list[Any], reduced: bool) -> object:
    found = _recalled(record, values)
    found = record.forward(*arrays) if found is None else found
    views = wrap_views(record, values, found)
    if reduced:
        _step_with_care(views)
    if current().saved_hooks:
        _forward_mode().follow_view(record, values, views)
        _told(record, values, found, views)
    return views


def _step_with_care(made: Any) -> None:
    """Let the node of an operation on numbers of reduced precision take the general step, whose formulas round as operations do."""
    for one in made if isinstance(made, (tuple, list)) else (made,):
        if isinstance(one, Tensor) and one.edge is not None:
            one.edge[0].more()


def _recalled(record: Overload, values: list[Any]) -> Any:
    """Return the outputs of an operation that is done again, where they were kept."""
    between = dispatch() if current().saved_hooks else None
    return None if between is None else between.outputs(record, values)


def _told(record: Overload, values: list[Any], outputs: object, made: object) -> None:
    between = dispatch()
    if between is not None:
        between.ran(record, values, outputs, made)


def _forward_mode() -> Any:
    """Return what follows tangents through operations; imported where something stands among the hooks on saved tensors."""
    from gradsh.engine.autograd import forward_mode

    return forward_mode


def _check_operand(record: Overload, values: list[Any], place: int) -> None:
    """Refuse an array that stands among Tensors; take a number of numpy's as Python's, or where only a Tensor will do, as one."""
    value = values[place]
    if isinstance(value, np.ndarray) or (type(value) is list and any(isinstance(one, np.ndarray) for one in value)):
        raise ArrayAmongTensors
    if isinstance(value, np.generic):
        operand = record.signature.params[place].type == "Operand"
        values[place] = value.item() if operand else make(np.asarray(value))
    elif type(value) is list:
        values[place] = [make(np.asarray(one)) if isinstance(one, np.generic) else one for one in value]


def _run_plain(record: Overload, values: list[Any]) -> object:
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
        return wrap(record, values, outputs, current())
    arrays = _arrays(record, values)
    outputs = record.forward(*arrays)
    if record.layout and not record.is_elementwise:
        outputs = laid(record.layout, outputs, arrays)
    if type(outputs) is tuple and record.returns is not None:
        return outputs[0] if record.returns == 1 else outputs[: record.returns]
    return outputs


def _arrays(record: Overload, values: list[Any]) -> list[Any]:
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
        unify(record, arrays, policy)
    return arrays


def _compute(record: Overload, arrays: list[Any], reduced: bool) -> object:
    """Run the kernel, on numbers of reduced precision or not; numpy's complaint about shapes becomes PyTorch's sentence."""
    try:
        if (reduced or current().default_dtype in REDUCED) and not (record.writes or record.reduced == "own"):
            return compute_reduced(record, arrays)
        return run_kernel(record.forward, arrays)
    except ValueError as error:
        if "broadcast" in str(error) and fault_of(error) is None:
            shape: tuple[int, ...] = ()
            for place in record.tensors or ():
                if isinstance(arrays[place], np.ndarray):
                    shape = broadcast_shapes(shape, arrays[place].shape)
        raise


def _needs_graph(record: Overload, values: list[Any], ambient: Ambient) -> bool:
    if not ambient.grad_enabled or not record.grads:
        return False
    for place in record.plan.edges:
        value = values[place]
        if isinstance(value, Tensor):
            if value.needs_grad or is_tracked(value):
                return True
        elif type(value) is list and any(is_tracked(one) for one in value):
            return True
    return False


def _check_views(record: Overload, values: list[Any]) -> None:
    """Refuse inputs that are views which could not follow a write: PyTorch asks for their edges before it computes anything."""
    for place in record.plan.edges:
        value = values[place]
        for one in value if type(value) is list else (value,):
            if isinstance(one, Tensor) and one.meta is not None and one.meta.view is not None:
                gradient_edge(one)


def wrap(record: Overload, values: list[Any], outputs: Any, ambient: Ambient) -> object:
    """Make tensors of the kernel's outputs and, where a gradient is wanted, the node behind them."""
    if type(outputs) is np.ndarray and record.returns is None:
        return _wrap_one(record, values, outputs, ambient)
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


def _wrap_one(record: Overload, values: list[Any], array: Array, ambient: Ambient) -> Tensor:
    """Do what `wrap` does for the one result that most operations have."""
    if array.dtype.kind != "f" or not _needs_graph(record, values, ambient):
        return make(array)
    node = build_node(record, values, (array,))
    save_inputs(node, values)
    result = make_result(array, node, 0)
    if record.plan.keeps_results:
        save_results(node, lambda n: _keep_result(result, n, 1))
    return result


def _output(value: object) -> Any:
    """Return an output of a kernel as an array; None is a gradient that nobody needs."""
    return value if type(value) is np.ndarray or value is None else np.asarray(value)


def _keep_result(result: Tensor, number: int, visible: int) -> SavedVariable:
    edge: Any = number if result.needs_grad and number < visible else None
    return SavedVariable(result.array, result.counter, result.counter.version, edge, None, tangents_to_save(result))


def _deliver(record: Overload, results: list[Tensor], many: bool) -> object:
    if not many or (record.returns == 1 and len(results) == 1):
        return results[0]
    if record.fields:
        from gradsh.engine.values.named_result import named_result

        return named_result(record.name, record.fields, results)
    return tuple(results)


def wrap_views(record: Overload, values: list[Any], outputs: Any) -> object:
    """Make views of the first tensor input, sharing its memory and version counter."""
    base = values[0]
    many = type(outputs) is tuple or type(outputs) is list
    arrays = list(outputs) if many else [outputs]
    ambient = current()
    node = None
    if _needs_graph(record, values, ambient) and base.array.dtype.kind == "f":
        node = build_node(record, values, arrays)
        save_inputs(node, values)
    creation = "default" if ambient.grad_enabled else "inference" if inferring() else "no_grad"
    if record.multi_view and creation == "default":
        creation = "multi"
    views = [view_of(base, one, node, place, creation) for place, one in enumerate(arrays)]
    return tuple(views) if many else views[0]


_LENIENT = frozenset({"masked_fill_", "index_fill_", "tril_", "triu_"})
"""In-place forms that PyTorch lets write into expanded tensors."""


def _run_inplace(record: Overload, values: list[Any]) -> Tensor:
    """Write the kernel's result into the first argument, bump its version and put the node into its history."""
    target: Tensor = values[0]
    ambient = current()
    tracked = _needs_graph(record, values, ambient)
    if ambient.grad_enabled and (tracked or is_tracked(target)):
        check_inplace(target)
        if tracked:
            _check_views(record, values)
    arrays = _arrays(record, values)
    if record.writes:
        check_not_zeros(target.array)
    else:
        if record.name not in _LENIENT:
            check_distinct(target.array)
        if record.dtypes != "same":  # products of matrices look at no memory
            check_apart(target.array, arrays[1:])
    if ambient.saved_hooks:
        announce_write(target)
    reduced = holds_reduced(arrays, record.typed)
    outputs = _recalled(record, values)
    if outputs is None:
        outputs = _compute(record, arrays, reduced)
    first = outputs[0] if type(outputs) is tuple else outputs
    first = np.asarray(first)
    if not record.writes:
        _check_writable(target, first)
    finish = _forward_mode().follow_write(record, values, outputs) if ambient.saved_hooks else None
    node = None
    if tracked and target.array.dtype.kind == "f":
        node = build_node(record, values, [target.array])
        save_inputs(node, values, find("clone")(target) if _saves_target(node) else None)
        if reduced:
            node.more()
    if record.name in _LENIENT:  # elements may share memory: those that change decide
        changed = first != target.array
        target.array[changed] = first[changed]
    elif not record.writes:
        _write(record, arrays, target.array, first)
    target.counter.bump(ambient.location())
    if node is not None:
        rebase(target, node)
        if node.record.plan.keeps_results and target.meta is not None and target.meta.view is not None:
            node.more().view = weakref.ref(node_of(target))
        save_results(node, lambda n: SavedVariable(target.array, target.counter, target.counter.version, 0) if n == 0
                     else keep_array(np.asarray(outputs[n])))
    if finish is not None:
        finish()
        _told(record, values, outputs, target)
    return target


def _saves_target(node: OpNode) -> bool:
    """Whether a node keeps the former content of what its operation writes."""
    return any(
        save.param == 0 and (not save.guard or any(node.edges[slot] is not None for slot in save.guard)) for save in node.record.plan.saves
    )


def _write(record: Overload, arrays: list[Any], target: Array, result: Array) -> None:
    """Write a result; where elements share memory, PyTorch works row by row, each of which reads what those before it wrote."""
    if arrays[0] is not target or not record.is_elementwise or not overlaps(target):
        if target.dtype in REDUCED:
            write(target, result)
        else:
            target[...] = result
        return
    order = order_of(target.shape, [target])
    wide = [np.broadcast_to(one, target.shape).transpose(order) if isinstance(one, np.ndarray) else one for one in arrays]
    rows = target.transpose(order)
    for index in np.ndindex(rows.shape[:-1]):
        row = record.forward(*(one[index] if isinstance(one, np.ndarray) else one for one in wide))
        rows[index] = row[0] if type(row) is tuple else row


def _run_geometry(record: Overload, values: list[Any]) -> Tensor:
    """Give the first argument another geometry over its memory (`t_`, `squeeze_`, …): a write, though no element changes."""
    target: Tensor = values[0]
    ambient = current()
    tracked = _needs_graph(record, values, ambient)
    if tracked:
        check_inplace(target)
    array = record.forward(*_arrays(record, values))
    if ambient.saved_hooks:
        _forward_mode().reshape_tangents(record, values)
    node = build_node(record, values, [array]) if tracked else None
    if node is None:
        target.counter.moved(target.array, -1, array)
        if record.name == "set_" and target.meta is not None:
            target.meta.accumulator = None  # that of the former memory
    target.array = array
    target.descriptor = None
    target.counter.bump(ambient.location())
    if node is not None:
        reshaped(target, node)
    return target


def _check_writable(target: Tensor, result: Array) -> None:
    array = target.array
    if result.dtype != array.dtype and of_numpy(result.dtype).category > of_numpy(array.dtype).category:
        a, b = of_numpy(result.dtype).title, of_numpy(array.dtype).title
        raise fail("dtype", f"result type {a} can't be cast to the desired output type {b}", tensor=target)
    if result.shape != array.shape:
        check_written_shape(array.shape, result.shape, tensor=target)
