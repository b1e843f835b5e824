"""Dropout in its forms."""

from gradsh.api.nn.declared import Declared, functional
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class _Dropout(Declared):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise fail("value", f"dropout probability has to be between 0 and 1, but got {p}", ValueError)
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Drop, in training mode only."""
        return functional(self._function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout, function="dropout"):
    """Zero each element with probability p in training, and scale the rest."""


class Dropout1d(_Dropout, function="dropout1d"):
    """Zero whole channels of (N, C, L)."""


class Dropout2d(_Dropout, function="dropout2d"):
    """Zero whole channels of (N, C, H, W)."""


class Dropout3d(_Dropout, function="dropout3d"):
    """Zero whole channels of (N, C, D, H, W)."""


class AlphaDropout(_Dropout, function="alpha_dropout"):
    """Dropout that keeps mean and variance of self-normalising networks."""


class FeatureAlphaDropout(_Dropout, function="feature_alpha_dropout"):
    """AlphaDropout of whole channels."""
