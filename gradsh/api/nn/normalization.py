"""Normalisation that needs no batch: LayerNorm, GroupNorm, RMSNorm, LocalResponseNorm."""

from typing import Any

from gradsh.api.nn import init
from gradsh.api.nn.conversion import blank, factory
from gradsh.api.nn.declared import REQUIRED, Declared, functional, takes
from gradsh.api.nn.module import Module
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class _Affine(Module):
    def _add(self, shape: tuple[int, ...], weight: bool, bias: bool, kind: object) -> None:
        self.register_parameter("weight", blank(shape, kind) if weight else None)
        self.register_parameter("bias", blank(shape, kind) if weight and bias else None)

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


def _shape(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


class LayerNorm(_Affine):
    """Normalise over the last dimensions."""

    def __init__(
        self, normalized_shape: object, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: object = None, dtype: object = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._add(self.normalized_shape, elementwise_affine, bias, factory(device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input normalised, scaled and shifted."""
        return functional("layer_norm")(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_Affine):
    """Normalise over groups of channels."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: object = None,
        dtype: object = None, *, bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            message = f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            raise fail("value", message, ValueError)
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._add((num_channels,), affine, bias, factory(device, dtype))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input normalised, scaled and shifted."""
        return functional("group_norm")(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divide by the root of the mean square over the last dimensions."""

    def __init__(
        self, normalized_shape: object, eps: float | None = None, elementwise_affine: bool = True, device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight", blank(self.normalized_shape, factory(device, dtype)) if elementwise_affine else None,
        )
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input normalised and scaled."""
        return functional("rms_norm")(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Declared, function="local_response_norm"):
    """Normalise over neighbouring channels."""

    _settings = takes(size=REQUIRED, alpha=1e-4, beta=0.75, k=1.0)

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
