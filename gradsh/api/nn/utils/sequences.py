"""torch.nn.utils.rnn: sequences of different lengths in one tensor."""

from collections.abc import Sequence

import numpy as np

from gradsh.engine.graph.tensor import Tensor, make, written
from gradsh.engine.registry import find
from gradsh.text.fault import fail


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Return the sequences (L, …) as one tensor (longest, N, …), or (N, longest, …) with batch_first."""
    if padding_side not in {"left", "right"}:
        raise fail("value", f"Expected padding_side to be one of left or right, but got {padding_side}.")
    given = list(sequences)
    longest = max(one.shape[0] for one in given)
    shape = (len(given), longest) if batch_first else (longest, len(given))
    found = make(np.full((*shape, *given[0].shape[1:]), padding_value, given[0].array.dtype))
    written(found)  # as in PyTorch, where the padding is written in place
    for place, one in enumerate(given):
        rows = slice(0, one.shape[0]) if padding_side == "right" else slice(longest - one.shape[0], longest)
        target = found[place] if batch_first else find("select")(found, 1, place)
        target[rows] = one
    return found


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded tensor, each with its own length."""
    padded = padded_sequences if batch_first else padded_sequences.transpose_(0, 1)  # as PyTorch does
    places = make(np.arange(padded.shape[1]))
    return [row[places < length] for row, length in zip(padded, lengths, strict=True)]
