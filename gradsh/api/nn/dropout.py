"""Dropout in its forms."""

from typing import Any

from gradsh.api.nn.declared import functional
from gradsh.api.nn.module import Module
from gradsh.text.fault import fail


class _Dropout(Module):
    _function = ""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise fail("value", f"dropout probability has to be between 0 and 1, but got {p}", ValueError)
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """Drop, in training mode only."""
        return functional(self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zero each element with probability p in training, and scale the rest."""

    _function = "dropout"


class Dropout1d(_Dropout):
    """Zero whole channels of (N, C, L)."""

    _function = "dropout1d"


class Dropout2d(_Dropout):
    """Zero whole channels of (N, C, H, W)."""

    _function = "dropout2d"


class Dropout3d(_Dropout):
    """Zero whole channels of (N, C, D, H, W)."""

    _function = "dropout3d"


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance of self-normalising networks."""

    _function = "alpha_dropout"


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels."""

    _function = "feature_alpha_dropout"
