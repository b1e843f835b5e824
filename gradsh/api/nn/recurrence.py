"""The arithmetic of recurrent cells, as PyTorch composes it: the graph comes out node for node."""

from typing import Any

from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find

Weights = tuple[Any, Any, Any, Any]
"""weight_ih, weight_hh, bias_ih, bias_hh"""


def _gates(input: object, state: object, weights: Weights) -> tuple[Any, Any]:
    w_ih, w_hh, b_ih, b_hh = weights
    linear = find("linear")
    hidden = linear(state, w_hh, b_hh)
    return (input if w_ih is None else linear(input, w_ih, b_ih)), hidden


def plain_cell(input: object, state: object, weights: Weights, nonlinearity: str) -> Tensor:
    """Return the next hidden state. With weight_ih None, `input` holds its products already."""
    from_input, from_state = _gates(input, state, weights)
    return find(nonlinearity)(from_state.add_(from_input))


def lstm_cell(input: object, state: tuple[object, object], weights: Weights) -> tuple[Tensor, Tensor]:
    """Return the next (h, c). With weight_ih None, `input` holds its products already."""
    h, c = state
    from_input, from_state = _gates(input, h, weights)
    entry, forget, cell, out = find("unsafe_chunk")(from_state.add_(from_input), 4, 1)
    entry = entry.sigmoid_()
    forget = forget.sigmoid_()
    cell = cell.tanh_()
    out = out.sigmoid_()
    c = (forget * c).add_(entry * cell)
    return out * c.tanh(), c


def gru_cell(input: object, state: object, weights: Weights) -> Tensor:
    """Return the next hidden state. With weight_ih None, `input` holds its products already."""
    w_ih, w_hh, b_ih, b_hh = weights
    linear = find("linear")
    chunk = find("unsafe_chunk")
    i_reset, i_entry, i_new = chunk(input if w_ih is None else linear(input, w_ih, b_ih), 3, 1)
    h_reset, h_entry, h_new = chunk(linear(state, w_hh, b_hh), 3, 1)
    reset = h_reset.add_(i_reset).sigmoid_()
    entry = h_entry.add_(i_entry).sigmoid_()
    new = i_new.add(h_new.mul_(reset)).tanh_()
    return (state - new).mul_(entry).add_(new)
