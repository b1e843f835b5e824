"""What recurrent modules need: one LSTM layer over a whole sequence (PyTorch's for float32), and cutting gates apart."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.declare import composite, op, sample
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, make
from gradsh.engine.parallel import BLOCK
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import widened
from gradsh.engine.values.shape import wrap_dim
from gradsh.ops.join import _join_pieces, _split, _split_backward, _split_sizes
from gradsh.ops.kernels.common import ONE
from gradsh.ops.kernels.geometry import array_of


def _by_gate(weight: Array, size: int) -> Array:
    """Return a weight or bias of the four gates cut apart, cell last, and those of the others negative, as their sigmoids take them."""
    found: Array = weight.reshape(4, size, -1)[[0, 1, 3, 2]]
    np.negative(found[:3], found[:3])
    return found.swapaxes(1, 2)


def _gates(array: Array, size: int) -> Array:
    """Show rows of four gates of a step as (4, N, H)."""
    return array.reshape(-1, 4, size).transpose(1, 0, 2)


def _order(steps: int, reverse: bool) -> range:
    return range(steps - 1, -1, -1) if reverse else range(steps)


def _lstm_layer(
    input: Array, weight0: Array, weight1: Array, weight2: Array, weight3: Array, hx_: Array, cx_: Array, reverse: bool,
    has_biases: bool, batch_first: bool, bidirectional: bool, num_layers: int, hidden_size: int, train: bool,
    batch_sizes: tuple[int, ...], mode: int,
) -> tuple[Array, ...]:
    """Return the outputs (T, N, H), the last h and c, and gates, c and tanh(c) of each step, (T, 6, N, H), as bytes.

    Products with the four parts of a weight take less time than one with all of it, and what they give lies together.
    """
    del batch_first, bidirectional, num_layers, train, batch_sizes, mode
    steps, batch = input.shape[:2]
    size = hidden_size
    given = np.matmul(input.reshape(steps * batch, -1), _by_gate(weight0, size))
    if has_biases:
        given += _by_gate(weight2 + weight3, size)
    columns = np.ascontiguousarray(_by_gate(weight1, size))
    output = np.empty((steps, batch, size), input.dtype)
    kept = np.empty((steps, 6, batch, size), input.dtype)
    product, work = np.empty((4, batch, size), input.dtype), np.empty((batch, size), input.dtype)
    h, c = hx_, cx_
    for step in _order(steps, reverse):
        np.matmul(h, columns, out=product)
        product += given[:, step * batch : (step + 1) * batch]
        entry, forget, out, cell, now, shaped = held = kept[step]
        sigmoids = np.exp(product[:3], held[:3])
        sigmoids += 1
        np.reciprocal(sigmoids, sigmoids)
        np.tanh(product[3], cell)
        np.multiply(forget, c, now)
        now += np.multiply(entry, cell, work)
        c, h = now, output[step]
        np.multiply(out, np.tanh(c, shaped), h)
    return output, np.array(h), np.array(c), kept.reshape(-1).view(np.uint8)


def _before(values: Any, first: Any, reverse: bool) -> Array:
    """Return for each step the value of the one before."""
    found: Array = np.empty(values.shape, values.dtype)
    held, given = (found[::-1], values[::-1]) if reverse else (found, values)
    held[0] = first
    held[1:] = given[:-1]
    return found


def _slopes(kept: Array, c_before: Array) -> Array:
    """Return the factors of each step, (T, 5, N, H): those of the gradient by c for three gates, that of the gradient by h for
    the last gate, and that by which it adds to the gradient by c.
    """
    entry, forget, out, cell, _, shaped = kept.swapaxes(0, 1)
    found = np.empty((len(kept), 5, *kept.shape[2:]), kept.dtype)
    one = ONE[kept.dtype]
    for place, gate, factor in ((0, entry, cell), (1, forget, c_before), (3, out, shaped)):
        slope = np.subtract(one, gate, found[:, place])
        slope *= gate
        slope *= factor
    for place, value, factor in ((2, cell, entry), (4, shaped, out)):
        slope = np.square(value, found[:, place])
        np.subtract(one, slope, slope)
        slope *= factor
    return found


def _backward(
    grads: Sequence[Any], input: ArrayOrTensor, weight0: ArrayOrTensor, weight1: ArrayOrTensor, weight2: ArrayOrTensor,
    weight3: ArrayOrTensor, hx_: ArrayOrTensor, cx_: ArrayOrTensor, result0: ArrayOrTensor, result1: ArrayOrTensor,
    result2: ArrayOrTensor, result3: ArrayOrTensor, reverse: bool, has_biases: bool, hidden_size: int,
) -> tuple[object, ...]:
    if isinstance(input, Tensor):
        inputs = (input, weight0, weight1, weight2, weight3, hx_, cx_)
        if current().grad_enabled:
            return _differentiable(grads, inputs, reverse, has_biases)
        x, w0, w1, w2, w3, h, c, y0, y1, y2, y3 = (  # they are of bfloat16
            widened(array_of(one)) for one in (*inputs, result0, result1, result2, result3)
        )
        given = [None if one is None else widened(array_of(one)) for one in grads]
        found: Any = _backward(given, x, w0, w1, w2, w3, h, c, y0, y1, y2, y3, reverse, has_biases, hidden_size)
        return tuple(None if one is None else make(one) for one in found)
    del result1, result2, weight2, weight3
    steps, batch = input.shape[:2]
    size = hidden_size
    kept = result3.view(input.dtype).reshape(steps, 6, batch, size)
    d_gates = np.empty((steps, batch, 4 * size), input.dtype)
    dh = np.zeros_like(hx_) if grads[1] is None else np.array(grads[1])
    dc = np.zeros_like(cx_) if grads[2] is None else np.array(grads[2])
    before, c_before = _before(result0, hx_, reverse), _before(kept[:, 4], cx_, reverse)
    together = max(1, BLOCK // (2 * max(batch * size, 1)))
    work = np.empty_like(dc)
    for start in range(0, steps, together)[::1 if reverse else -1]:
        part = slice(start, min(start + together, steps))
        slopes = _slopes(kept[part], c_before[part])
        for step in range(part.start, part.stop)[::1 if reverse else -1]:
            if grads[0] is not None:
                dh += grads[0][step]
            slope, gates = slopes[step - start], _gates(d_gates[step], size)
            dc += np.multiply(dh, slope[4], work)
            np.multiply(dc, slope[:3], gates[:3])
            np.multiply(dh, slope[3], gates[3])
            np.matmul(d_gates[step], weight1, out=dh)
            dc *= kept[step, 1]
    flat = d_gates.reshape(-1, 4 * size)
    d_bias = flat.sum(0)
    d_weight0 = flat.T @ input.reshape(-1, input.shape[2])
    d_weight1 = flat.T @ before.reshape(-1, size)
    biases = (d_bias, d_bias.copy()) if has_biases else (None, None)
    d_input = np.empty(input.shape, input.dtype)  # no view: the gradient of the other direction is added to it in place
    np.matmul(flat, weight0, out=d_input.reshape(-1, input.shape[2]))
    return d_input, d_weight0, d_weight1, *biases, dh, dc


def _differentiable(
    grads: Sequence[Any], inputs: tuple[Any, ...], reverse: bool, has_biases: bool
) -> tuple[object, ...]:
    """Return the gradients as recorded operations: those of the same layer composed of single steps."""
    from gradsh.engine.autograd.backward import grad

    input, weight0, weight1, weight2, weight3, hx_, cx_ = inputs
    outputs = compose(input, weight0, weight1, weight2, weight3, hx_, cx_, reverse, has_biases)
    wanted = [one for one in inputs[: 5 if has_biases else 3] + inputs[5:] if one.requires_grad]
    pairs = [(one, cotangent) for one, cotangent in zip(outputs, grads[:3], strict=True) if cotangent is not None]
    found = grad(
        [one for one, _ in pairs], wanted, [cotangent for _, cotangent in pairs], create_graph=True, allow_unused=True
    )
    by_input = {id(one): value for one, value in zip(wanted, found, strict=True)}
    results = [by_input.get(id(one)) for one in inputs]
    if not has_biases:
        results[3] = results[4] = None
    return tuple(results)


def compose(
    input: Tensor, weight0: Tensor, weight1: Tensor, weight2: Tensor, weight3: Tensor, hx_: Tensor, cx_: Tensor,
    reverse: bool, has_biases: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return outputs, last h and last c of the layer, made of plain operations."""
    linear = find("linear")
    steps = find("unbind")(linear(input, weight0, weight2 if has_biases else None), 0)
    h, c = hx_, cx_
    found: list[Any] = [None] * len(steps)
    for step in _order(len(steps), reverse):
        gates = steps[step] + linear(h, weight1, weight3 if has_biases else None)
        entry, forget, cell, out = find("chunk")(gates, 4, 1)
        c = forget.sigmoid() * c + entry.sigmoid() * cell.tanh()
        h = out.sigmoid() * c.tanh()
        found[step] = h
    return find("stack")(found, 0), h, c


mkldnn_rnn_layer = op(
    "mkldnn_rnn_layer(input, weight0: Tensor, weight1: Tensor, weight2: Tensor, weight3: Tensor, hx_: Tensor, cx_: Tensor, "
    "reverse: bool, has_biases: bool, batch_first: bool, bidirectional: bool, num_layers: int, hidden_size: int, train: bool, "
    "batch_sizes: ints = (), mode: int = 2)",
    "MkldnnRnnLayerBackward0", "One layer of an LSTM over a sequence (T, N, features): outputs, last h, last c.",
    forward=_lstm_layer, returns=3, spaces=(),
    attributes=(
        "reverse", "has_biases", "batch_first", "bidirectional", "num_layers", "hidden_size", "train", "batch_sizes", "mode"
    ),
    grads={("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_"): _backward},
    samples=(
        sample((3, 2, 3), (8, 3), (8, 2), (8,), (8,), (2, 2), (2, 2), reverse=False, has_biases=True, batch_first=False,
               bidirectional=False, num_layers=1, hidden_size=2, train=True),
        sample((3, 2, 3), (8, 3), (8, 2), (8,), (8,), (2, 2), (2, 2), reverse=True, has_biases=True, batch_first=False,
               bidirectional=False, num_layers=1, hidden_size=2, train=True),
    ),
)


def _rows_of(lengths: Sequence[int], batch: int) -> tuple[Array, Array]:
    """Return how many sequences have each step, and the rows that these are among all (step · batch + sequence)."""
    sizes = np.array([sum(length > step for length in lengths) for step in range(max(lengths))], np.int64)
    return sizes, np.concatenate([step * batch + np.arange(size) for step, size in enumerate(sizes)])


def _pack(input: Array, lengths: tuple[int, ...], batch_first: bool) -> tuple[Array, Array]:
    ordered = input.swapaxes(0, 1) if batch_first else input
    sizes, rows = _rows_of(lengths, ordered.shape[1])
    return ordered.reshape(-1, *ordered.shape[2:])[rows], sizes


def _unpack(
    grad: ArrayOrTensor, input_sizes: tuple[int, ...], result1: ArrayOrTensor, batch_first: bool
) -> ArrayOrTensor:
    """Return the gradient of what was packed: zeros where there was padding."""
    steps, batch = (input_sizes[1], input_sizes[0]) if batch_first else input_sizes[:2]
    counts = result1.array if isinstance(result1, Tensor) else result1
    rows = np.concatenate([step * batch + np.arange(size) for step, size in enumerate(counts)])
    shape = (steps * batch, *input_sizes[2:])
    if isinstance(grad, Tensor):
        whole = find("index_add")(make(np.zeros(shape, grad.array.dtype)), 0, make(rows), grad)
        whole = whole.view((steps, batch, *input_sizes[2:]))
        return whole.transpose(0, 1) if batch_first else whole
    found = np.zeros(shape, grad.dtype)
    found[rows] = grad
    found = found.reshape(steps, batch, *input_sizes[2:])
    return found.swapaxes(0, 1) if batch_first else found


_pack_padded_sequence = op(
    "_pack_padded_sequence(input, lengths: ints, batch_first: bool = False)", "PackPaddedSequenceBackward0",
    "The steps of padded sequences, those that are long enough, one step after the other; and how many each step has.",
    forward=_pack, outputs=("result0", "result1"), spaces=(), attributes=("batch_first",), grads={"input": _unpack},
    samples=(sample((4, 3, 2), (4, 2, 1)), sample((3, 4), (4, 4, 1), True)),
)


unsafe_split = op(
    "unsafe_split(self, split_size: int, dim: int = 0)", "UnsafeSplitBackward0",
    "Consecutive pieces of one size that share memory but count their versions apart.", forward=_split,
    reduced="own", grads={"self": _split_backward}, samples=(sample((6, 4), 2), sample((6, 4), 2, 1)),
)


op(
    "unsafe_split_with_sizes(self, split_sizes: tuple, dim: int = 0)", "UnsafeSplitWithSizesBackward0",
    "Consecutive pieces of given sizes that share memory but count their versions apart.", forward=_split_sizes,
    reduced="own", grads={"self": lambda grads, split_sizes, dim, self_sizes: _join_pieces(grads, self_sizes, split_sizes, dim)},
    samples=(sample((6, 4), (1, 2, 3)), sample((6, 4), (3, 1), 1)),
)


def _unsafe_chunk(self: Tensor, chunks: int, dim: int) -> tuple[Tensor, ...]:
    extent = self.shape[wrap_dim(dim, self.ndim)]
    return unsafe_split(self, (extent + chunks - 1) // chunks, dim)


unsafe_chunk = composite(
    "unsafe_chunk(self, chunks: int, dim: int = 0)", "A number of pieces that share memory but count their versions apart.",
    _unsafe_chunk,
)
