"""Packed sequences: the steps of several sequences in one tensor, each step's rows together, and what packs and pads them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradsh.api.nn.utils.sequences import pad_sequence, unpad_sequence
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


class PackedSequence(NamedTuple):
    """`data` holds step after step; `batch_sizes` says how many sequences are that long; the others, how they were sorted."""

    data: Any
    batch_sizes: Any
    sorted_indices: object = None
    unsorted_indices: Any = None

    @property
    def is_cuda(self) -> bool:
        """Return False: there is no GPU."""
        return False

    def to(self, *args: object, **kwargs: object) -> "PackedSequence":
        """Return the sequence with its data on a device or of a dtype."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def cpu(self) -> "PackedSequence":
        """Return the sequence itself."""
        return self


PackedSequence.__script_attributes__ = frozenset(  # type: ignore[attr-defined]
    {"data", "batch_sizes", "sorted_indices", "unsorted_indices", "is_cuda", "to", "cpu", "_replace", "count", "index"}
)


def pack_padded_sequence(input: Tensor, lengths: object, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Pack a padded tensor (T, N, …), or (N, T, …) with batch_first, whose sequences have these lengths."""
    known = lengths.array if isinstance(lengths, Tensor) else np.asarray(lengths)
    counts = make(np.array(known, np.int64))
    order = None
    if not enforce_sorted:
        counts, order = find("sort")(counts, descending=True)
        input = find("index_select")(input, 0 if batch_first else 1, order)
    steps, batch = (1, 0) if batch_first else (0, 1)
    _check_lengths(counts.array, input.shape[batch], input.shape[steps])
    data, batch_sizes = find("_pack_padded_sequence")(input, counts.tolist(), batch_first)
    return PackedSequence(data, batch_sizes, order, None if order is None else _inverse(order))


def _check_lengths(lengths: Array, batch: int, longest: int) -> None:
    """Refuse lengths that the padded tensor does not have. Raises RuntimeError."""
    if len(lengths) != batch:
        text = f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})"
        raise fail("shape", text)
    if (lengths <= 0).any():
        text = "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        raise fail("value", text)
    if (lengths[:-1] < lengths[1:]).any():
        text = (
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
            "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
        raise fail("value", text)
    if lengths[0] > longest:
        text = f"start (0) + length ({lengths[0]}) exceeds dimension size ({longest})."
        raise fail("shape", text)


def _inverse(order: Any) -> Tensor:
    places = make(np.arange(len(order.array)))
    return make(np.empty_like(order.array)).scatter_(0, order, places)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """Return the sequences as one padded tensor, and their lengths, in the order in which they were packed."""
    sizes = sequence.batch_sizes.tolist()
    if total_length is not None and total_length < len(sizes):
        text = f"Expected total_length to be at least the length of the longest sequence in input, but got total_length={total_length}"
        raise fail("value", f"{text} and max sequence length being {len(sizes)}", ValueError)
    padded = _padded(sequence.data, sizes, total_length or len(sizes), padding_value)
    lengths = make(np.array([sum(size > row for size in sizes) for row in range(sizes[0])], np.int64))
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is None:
        return padded, lengths
    order = sequence.unsorted_indices
    return find("index_select")(padded, 0 if batch_first else 1, order), make(lengths.array[order.array])


def _padded(data: Tensor, sizes: list[int], longest: int, padding_value: float) -> Tensor:
    """Return (T, N, …): the steps with as many sequences are written together, as PyTorch does."""
    narrow = find("narrow")
    found = make(np.full((longest, sizes[0], *data.shape[1:]), padding_value, data.array.dtype))
    start = taken = 0
    for step in range(1, len(sizes) + 1):
        if step < len(sizes) and sizes[step] == sizes[start]:
            continue
        count = sizes[start] * (step - start)
        rows = narrow(data, 0, taken, count)
        target = narrow(narrow(found, 0, start, step - start), 1, 0, sizes[start])
        target.copy_(rows.view((step - start, sizes[start], *data.shape[1:])))
        start, taken = step, taken + count
    return found


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack several tensors (L, …)."""
    return pack_padded_sequence(pad_sequence(sequences), [len(one) for one in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences of a packed one, each with its own length."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)


State = Any
Cell = Callable[[Any, State], tuple[Any, State]]


def run_packed(steps: object, sizes: Sequence[int], state: State, reverse: bool, cell: Cell) -> tuple[Any, State]:
    """Run a cell over packed steps; sequences that are over leave the state (`reverse`: those that begin join it)."""
    return _backward(steps, sizes, state, cell) if reverse else _forward(steps, sizes, state, cell)


def _each(state: State, change: Callable[..., object], *others: State) -> State:
    """Change a state, which is one tensor or a pair."""
    if isinstance(state, tuple):
        return tuple(change(*parts) for parts in zip(state, *others, strict=True))
    return change(state, *others)


def _rows(state: State, start: int, count: int) -> State:
    return _each(state, lambda part: find("narrow")(part, 0, start, count))


def _joined(*states: State) -> State:
    return _each(states[0], lambda *parts: find("cat")(list(parts), 0), *states[1:])


def _forward(steps: object, sizes: Sequence[int], state: State, cell: Cell) -> tuple[Any, State]:
    outputs, over = [], []
    taken, alive = 0, sizes[0]
    for size in sizes:
        step = find("narrow")(steps, 0, taken, size)
        taken += size
        if size < alive:
            over.append(_rows(state, size, alive - size))
            state = _rows(state, 0, size)
        alive = size
        output, state = cell(step, state)
        outputs.append(output)
    return find("cat")(outputs, 0), _joined(*reversed([*over, state]))


def _backward(steps: Any, sizes: Sequence[int], given: State, cell: Cell) -> tuple[Any, State]:
    outputs = []
    left, alive = steps.shape[0], sizes[-1]
    state = _rows(given, 0, alive)
    for size in reversed(sizes):
        if size > alive:
            state = _joined(state, _rows(given, alive, size - alive))
        alive = size
        left -= size
        output, state = cell(find("narrow")(steps, 0, left, size), state)
        outputs.append(output)
    return find("cat")(outputs[::-1], 0), state
