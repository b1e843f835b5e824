"""einops.layers.torch: a pattern as a module."""

from typing import Any

from gradsh.api.einops import rearrange, reduce
from gradsh.api.nn.module import Module


class Rearrange(Module):
    """The input with its axes as `rearrange` makes them."""

    def __init__(self, pattern: str, **axes_lengths: int) -> None:
        super().__init__()
        self.pattern = pattern
        self.axes_lengths = axes_lengths

    def forward(self, input: Any) -> Any:
        """Return the input rearranged."""
        return rearrange(input, self.pattern, **self.axes_lengths)

    def _shown(self, *given: str) -> str:
        return f"{type(self).__name__}({', '.join([*map(repr, given), *(f'{key}={one}' for key, one in self.axes_lengths.items())])})"

    def __repr__(self) -> str:
        return self._shown(self.pattern)


class Reduce(Rearrange):
    """The input reduced as `reduce` does."""

    def __init__(self, pattern: str, reduction: str, **axes_lengths: int) -> None:
        super().__init__(pattern, **axes_lengths)
        self.reduction = reduction

    def forward(self, input: Any) -> Any:
        """Return the input reduced."""
        return reduce(input, self.pattern, self.reduction, **self.axes_lengths)

    def __repr__(self) -> str:
        return self._shown(self.pattern, self.reduction)
