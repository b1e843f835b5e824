"""Changing sizes and measuring distances: upsampling, pixel shuffle, fold, similarity."""

from typing import Any

from gradsh.api.nn.declared import REQUIRED, Declared, functional, takes
from gradsh.engine.attribute_names import read
from gradsh.engine.graph.tensor import Tensor


class Upsample(Declared):
    """Interpolate to a size or by a factor."""

    _settings = takes(
        size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None
    )

    scale_factor: Any

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.name = type(self).__name__
        factor = self.scale_factor
        if isinstance(factor, tuple):
            self.scale_factor = tuple(float(one) for one in factor)
        else:
            self.scale_factor = float(factor) if factor else None

    def forward(self, input: Tensor) -> Tensor:
        """Return the input resized."""
        given = {name: value for name in self._settings if (value := read(self, name)) is not None}
        return functional("interpolate")(input, **given)

    def extra_repr(self) -> str:
        """Return size or factor, and mode."""
        given = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Repeat the nearest pixel."""

    def __init__(self, size: object = None, scale_factor: object = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Interpolate between four pixels, corners aligned."""

    def __init__(self, size: object = None, scale_factor: object = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Declared, function="pixel_shuffle", settings=takes(upscale_factor=REQUIRED)):
    """(C r², H, W) to (C, H r, W r)."""


class PixelUnshuffle(Declared, function="pixel_unshuffle"):
    """(C, H r, W r) to (C r², H, W)."""

    _settings = takes(downscale_factor=REQUIRED)


class ChannelShuffle(Declared, function="channel_shuffle", settings=takes(groups=REQUIRED)):
    """Interleave groups of channels."""


class Fold(Declared, function="fold"):
    """Add windows, given as columns, up to an image."""

    _settings = takes(output_size=REQUIRED, kernel_size=REQUIRED, dilation=1, padding=0, stride=1)


class Unfold(Declared, function="unfold"):
    """Lay the windows of an image out as columns."""

    _settings = takes(kernel_size=REQUIRED, dilation=1, padding=0, stride=1)

    def forward(self, input: Tensor) -> Tensor:
        """Return (N, C · window, positions)."""
        return functional("unfold")(input, self.kernel_size, self.dilation, self.padding, self.stride)


class PairwiseDistance(Declared, settings=takes(p=2.0, eps=1e-6, keepdim=False)):
    """The p-norm of the difference of two vectors."""

    _shown = ()

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.norm = self.p
        del self.p

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[override]
        """Return the distances."""
        return functional("pairwise_distance")(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Declared, settings=takes(dim=1, eps=1e-8)):
    """The cosine of the angle between two vectors."""

    _shown = ()

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:  # type: ignore[override]
        """Return the cosines."""
        return functional("cosine_similarity")(x1, x2, self.dim, self.eps)
