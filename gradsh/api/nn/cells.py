"""Recurrent cells as modules."""

import math
from typing import Any

from gradsh.api.nn import init
from gradsh.api.nn.conversion import blank, factory
from gradsh.api.nn.module import Module
from gradsh.api.nn.recurrence import gru_cell, lstm_cell, plain_cell
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.text.fault import fail


class RNNCellBase(Module):
    """What cells share: weights for `gates` stacked gates."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: object = None, dtype: object = None
    ) -> None:
        super().__init__()
        kind = factory(device, dtype)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self.gates * hidden_size
        self.weight_ih = blank((rows, input_size), kind)
        self.weight_hh = blank((rows, hidden_size), kind)
        if bias:
            self.bias_ih = blank((rows,), kind)
            self.bias_hh = blank((rows,), kind)
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights(self) -> tuple[Any, Any, Any, Any]:
        own = self._parameters
        return own["weight_ih"], own["weight_hh"], own["bias_ih"], own["bias_hh"]

    def _batched(self, input: Tensor, state: object, word: str = "hx") -> tuple[Tensor, Any, bool]:
        """Check dimensions; return input and state with a batch dimension, and whether there was one."""
        name = type(self).__name__
        if input.ndim not in {1, 2}:
            message = f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            raise fail("shape", message, ValueError, tensor=input)
        states = state if isinstance(state, (tuple, list)) else (state,)
        for place, one in enumerate(states):
            if one is not None and one.ndim not in {1, 2}:
                which = f"{word}[{place}]" if len(states) > 1 else "hidden"
                message = f"{name}: Expected {which} to be 1D or 2D, got {one.ndim}D instead"
                raise fail("shape", message, ValueError, tensor=one)
        batched = input.ndim == 2
        if not batched:
            input = input.unsqueeze(0)
        return input, states, batched

    def _check(self, input: Tensor, *states: Tensor) -> None:
        if input.shape[1] != self.input_size:
            message = f"input has inconsistent input_size: got {input.shape[1]} expected {self.input_size}"
            raise fail("shape", message, tensor=input)
        for place, state in enumerate(states):
            if state.shape[1] != self.hidden_size:
                message = (
                    f"hidden{place or ('0' if len(states) > 1 else '')} has inconsistent hidden_size: got "
                    f"{state.shape[1]}, expected {self.hidden_size}"
                )
                raise fail("shape", message, tensor=state)
            if state.shape[0] != input.shape[0]:
                message = f"Input batch size {input.shape[0]} doesn't match hidden batch size {state.shape[0]}"
                raise fail("shape", message, tensor=state)

    def _zeros(self, input: Tensor) -> Tensor:
        import numpy as np

        return make(np.zeros((input.array.shape[0], self.hidden_size), input.array.dtype))

    def extra_repr(self) -> str:
        """Return the sizes and what differs from the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Tensor:
        """Return the next hidden state, (N, hidden) or (hidden)."""
        input, states, batched = self._batched(input, hx)
        if self.nonlinearity not in {"tanh", "relu"}:
            raise fail("value", f"Unknown nonlinearity: {self.nonlinearity}")
        state = self._zeros(input) if hx is None else states[0] if batched else states[0].unsqueeze(0)
        self._check(input, state)
        found = plain_cell(input, state, self._weights(), self.nonlinearity)
        return found if batched else found.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory."""

    gates = 4

    def forward(self, input: Any, hx: Any = None) -> tuple[Tensor, Tensor]:
        """Return the next (h, c)."""
        input, states, batched = self._batched(input, hx)
        if hx is None:
            zeros = self._zeros(input)
            h, c = zeros, zeros
        else:
            h, c = states if batched else (states[0].unsqueeze(0), states[1].unsqueeze(0))
        self._check(input, h, c)
        h, c = lstm_cell(input, (h, c), self._weights())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    gates = 3

    def forward(self, input: Any, hx: Any = None) -> Tensor:
        """Return the next hidden state."""
        input, states, batched = self._batched(input, hx)
        state = self._zeros(input) if hx is None else states[0] if batched else states[0].unsqueeze(0)
        self._check(input, state)
        found = gru_cell(input, state, self._weights())
        return found if batched else found.squeeze(0)
