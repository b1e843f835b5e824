"""RNN, LSTM and GRU over sequences: several layers, both directions, dropout between layers."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradsh.api.nn import init
from gradsh.api.nn.cells import GRUCell, LSTMCell, RNNCell
from gradsh.api.nn.conversion import blank, factory
from gradsh.api.nn.module import Module, differing
from gradsh.api.nn.recurrence import gru_cell, lstm_cell, plain_cell
from gradsh.api.nn.utils.packed import PackedSequence, run_packed
from gradsh.engine.ambient import current
from gradsh.engine.attribute_names import read
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.values.reduced import BFLOAT16, SINGLE
from gradsh.text.fault import fail

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]

Layer = Callable[[Any, Any, int, bool], tuple[Any, Any]]


class RNNBase(Module):
    """What RNN, LSTM and GRU share: weights of each layer and direction, checks, the walk over layers."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: object = None, dtype: object = None,
    ) -> None:
        super().__init__()
        self.mode = type(self).__name__
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_settings(dropout)
        kind = factory(device, dtype)
        self._names: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                self._add(layer, suffix, kind)
        self.reset_parameters()

    def _check_settings(self, dropout: object) -> None:
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            message = "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            raise fail("value", message, ValueError)
        if dropout > 0 and self.num_layers == 1:
            current().warning(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={self.num_layers}"
            )
        for name in ("hidden_size", "num_layers"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise fail("type", f"{name} should be of type int, got: {type(value).__name__}", TypeError)
            if value <= 0:
                raise fail("value", f"{name} must be greater than zero", ValueError)
        if self.proj_size < 0:
            raise fail("value", "proj_size should be a positive integer or zero to disable projections", ValueError)
        if self.proj_size >= self.hidden_size:
            raise fail("value", "proj_size has to be smaller than hidden_size", ValueError)

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"] if self.bidirectional else [f"_l{layer}"]

    def _add(self, layer: int, suffix: str, kind: object) -> None:
        directions = 2 if self.bidirectional else 1
        out = self.proj_size or self.hidden_size
        inputs = self.input_size if layer == 0 else out * directions
        rows = self.gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, inputs), "weight_hh": (rows, out)}
        if self.bias:
            shapes.update(bias_ih=(rows,), bias_hh=(rows,))
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name + suffix, blank(shape, kind))
        self._names.append([name + suffix for name in shapes])

    def reset_parameters(self) -> None:
        """Draw all weights."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing: weights need no common memory here."""

    @property
    def all_weights(self) -> list[list[object]]:
        """The weights of each layer and direction."""
        return [[read(self, name) for name in names] for names in self._names]

    def _weights(self, place: int) -> tuple[Any, Any, Any, Any]:
        own = [self._parameters[name] for name in self._names[place]]
        return (own[0], own[1], own[2], own[3]) if self.bias else (own[0], own[1], None, None)

    # --- checks -------------------------------------------------------------------------------------------------------

    def _check_input(self, input: Tensor) -> None:
        if input.ndim not in {2, 3}:
            message = f"{self.mode}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            raise fail("shape", message, ValueError, tensor=input)
        if input.array.dtype != self._parameters["weight_ih_l0"].array.dtype:  # type: ignore[union-attr]
            kind, own = input.dtype, self._parameters["weight_ih_l0"].dtype  # type: ignore[union-attr]
            message = f"RNN input dtype ({kind}) does not match weight dtype ({own}). Convert input: input.to({own}), or "
            raise fail("dtype", message + f"convert model: model.to({kind})", ValueError, tensor=input)
        if input.shape[-1] != self.input_size:
            message = (
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
            raise fail("shape", message, tensor=input)

    @property
    def _paired(self) -> bool:
        """Whether the state is a pair (h, c): an LSTM's."""
        return self.gates == 4

    def _widths(self) -> tuple[int, ...]:
        return (self.proj_size or self.hidden_size, self.hidden_size) if self._paired else (self.hidden_size,)

    def _check_dims(self, input: Tensor, parts: Sequence[Tensor]) -> None:
        if any(part.ndim != input.ndim for part in parts):
            sort = "unbatched 2-D" if input.ndim == 2 else "batched 3-D"
            got = f"({parts[0].ndim}-D, {parts[1].ndim}-D) tensors" if self._paired else f"{parts[0].ndim}-D tensor"
            message = f"For {sort} input, hx {'and cx ' * self._paired}should also be {input.ndim}-D but got {got}"
            raise fail("shape", message, tensor=parts[0])

    def _check_states(self, parts: Sequence[Tensor], batch: int) -> None:
        for number, (part, width) in enumerate(zip(parts, self._widths(), strict=True)):
            name = f"hidden[{number}]" if self._paired else "hidden"
            self._check_state(part, width, batch, f"Expected {name} size {{}}, got {{}}")

    def _check_state(self, state: Tensor, size: int, batch: int, text: str) -> None:
        directions = 2 if self.bidirectional else 1
        expected = (self.num_layers * directions, batch, size)
        if tuple(state.shape) != expected:
            raise fail("shape", text.format(expected, list(state.shape)), tensor=state)

    def _zeros(self, batch: int, size: int, like: Tensor) -> Tensor:
        directions = 2 if self.bidirectional else 1
        return make(np.zeros((self.num_layers * directions, batch, size), like.array.dtype))

    # --- the walk over layers ----------------------------------------------------------------------------------------

    def _sequence(self, input: Any) -> object:
        """Return the input as (time, batch, features)."""
        return input.transpose(0, 1) if self.batch_first else input

    def _walk(self, input: object, states: list[object], run: Layer | None = None) -> tuple[Any, list[Any]]:
        """Run all layers (each by `run`); return the last one's outputs and every final state."""
        run = run or self._layer
        final: list[object] = []
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(directions):
                place = layer * directions + direction
                output, state = run(input, states[place], place, direction == 1)
                outputs.append(output)
                final.append(state)
            input = outputs[0] if directions == 1 else find("cat")(outputs, -1)
            if self.dropout != 0 and self.training and layer < self.num_layers - 1:
                input = find("dropout")(input, self.dropout, True)
        return input, final

    def _layer(self, input: object, state: object, place: int, reverse: bool) -> tuple[object, object]:
        w_ih, w_hh, b_ih, b_hh = self._weights(place)
        steps = list(find("unbind")(find("linear")(input, w_ih, b_ih), 0))
        if not steps:
            raise fail("shape", "Expected sequence length to be larger than 0 in RNN")
        outputs = []
        for step in reversed(steps) if reverse else steps:
            output, state = self._cell(step, state, (None, w_hh, None, b_hh), place)
            outputs.append(output)
        if reverse:
            outputs.reverse()
        return find("stack")(outputs, 0), state

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Return the outputs of all steps and the last state (layers · directions, N, hidden); an LSTM's is a pair (h, c)."""
        if isinstance(input, PackedSequence):
            return self._over_packed(input, hx)
        self._check_input(input)
        alone, where = input.ndim == 2, 0 if self.batch_first else 1
        parts = [] if hx is None else [hx[0], hx[1]] if self._paired else [hx]
        self._check_dims(input, parts)
        if alone:
            input = input.unsqueeze(where)
            parts = [part.unsqueeze(1) for part in parts]
        batch = input.shape[where]
        parts = parts or [self._zeros(batch, width, input) for width in self._widths()]
        self._check_states(parts, batch)
        output, ends = self._run(input, parts)
        if alone:
            output, ends = output.squeeze(where), [end.squeeze(1) for end in ends]
        return output, tuple(ends) if self._paired else ends[0]

    def _run(self, input: object, parts: Sequence[object]) -> tuple[Any, list[Any]]:
        output, final = self._walk(self._sequence(input), self._split(parts))
        return output.transpose_(0, 1) if self.batch_first else output, self._together(final)

    def _split(self, parts: Sequence[object]) -> list[object]:
        """Return the state of each layer and direction."""
        unbound = [find("unbind")(part, 0) for part in parts]
        return list(zip(*unbound, strict=True)) if self._paired else list(unbound[0])

    def _together(self, final: list[Any]) -> list[Tensor]:
        """Return the parts of which the states of all layers and directions are."""
        return [find("stack")([state[n] for state in final] if self._paired else final, 0) for n in range(1 + self._paired)]

    def _over_packed(self, packed: PackedSequence, hx: Any) -> object:
        """Run over a packed sequence; the states are those of each sequence's own last step."""
        self._check_input(packed.data)
        sizes = packed.batch_sizes.tolist()
        if hx is None:
            parts = [self._zeros(sizes[0], width, packed.data) for width in self._widths()]
        else:
            parts = [_reordered(part, packed.sorted_indices) for part in (hx if self._paired else (hx,))]
        self._check_states(parts, sizes[0])
        def layer(steps: object, state: object, place: int, reverse: bool) -> tuple[Any, Any]:
            w_ih, w_hh, b_ih, b_hh = self._weights(place)
            products = find("linear")(steps, w_ih, b_ih)
            own = (None, w_hh, None, b_hh)
            return run_packed(products, sizes, state, reverse, lambda step, state: self._cell(step, state, own, place))

        output, final = self._walk(packed.data, self._split(parts), layer)
        ends = [_reordered(end, packed.unsorted_indices) for end in self._together(final)]
        return packed._replace(data=output), tuple(ends) if self._paired else ends[0]

    def _cell(self, step: object, state: object, weights: object, place: int) -> tuple[object, object]:
        raise AssertionError("a recurrent module says what its cell is")

    def extra_repr(self) -> str:
        """Return the sizes and what differs from the defaults."""
        return f"{self.input_size}, {self.hidden_size}" + differing(
            self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0, bidirectional=False,
        )


def _reordered(state: Any, order: object) -> Any:
    """Return a state with its sequences in another order, None: in the same."""
    return state if order is None else find("index_select")(state, 1, order)


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) at each step."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: object = None,
        dtype: object = None,
    ) -> None:
        if nonlinearity not in {"tanh", "relu"}:
            raise fail("value", f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.", ValueError)
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity

    def _cell(self, step: object, state: object, weights: Any, place: int) -> tuple[Tensor, Tensor]:
        del place
        found = plain_cell(step, state, weights, self.nonlinearity)
        return found, found


class GRU(RNNBase):
    """A gated recurrent unit at each step."""

    gates = 3

    def _cell(self, step: object, state: object, weights: Any, place: int) -> tuple[Tensor, Tensor]:
        del place
        found = gru_cell(step, state, weights)
        return found, found


_FUSED = (SINGLE, BFLOAT16)
"""The dtypes in which PyTorch runs a whole layer of an LSTM at once."""


class LSTM(RNNBase):
    """A long short-term memory at each step; the state is the pair (h, c)."""

    gates = 4

    def _run(self, input: Any, parts: Sequence[object]) -> tuple[Any, list[Any]]:
        if input.array.dtype not in _FUSED or self.proj_size or not input.array.size:
            return super()._run(input, parts)
        input = self._sequence(input)
        states = self._split(parts)
        output, final = self._walk(input.contiguous(), states, self._whole_layer)
        return output.transpose(0, 1) if self.batch_first else output, self._together(final)

    def _whole_layer(
        self, input: Tensor, state: tuple[Tensor, ...], place: int, reverse: bool
    ) -> tuple[object, object]:
        w_ih, w_hh, b_ih, b_hh = self._weights(place)
        if not self.bias:
            b_ih, b_hh = w_ih.detach(), w_hh.detach()
        output, h, c = find("mkldnn_rnn_layer")(
            input, w_ih, w_hh, b_ih, b_hh, state[0], state[1], reverse, self.bias, self.batch_first, self.bidirectional,
            self.num_layers, self.hidden_size, self.training,
        )
        return output, (h, c)

    def _cell(self, step: object, state: Any, weights: Any, place: int) -> tuple[object, object]:
        h, c = lstm_cell(step, state, weights)
        projection = self._parameters[self._names[place][-1]] if self.proj_size else None
        if projection is not None:
            h = find("matmul")(h, projection.t())
        return h, (h, c)
