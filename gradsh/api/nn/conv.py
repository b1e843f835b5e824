"""Convolutions and transposed convolutions of one, two and three dimensions."""

import math
from typing import Any

from gradsh.api.nn import init
from gradsh.api.nn.conversion import blank, factory
from gradsh.api.nn.declared import functional, own
from gradsh.api.nn.module import Module, differing
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail

_MODES = ("zeros", "reflect", "replicate", "circular")


def repeated(value: Any, n: int) -> tuple[int, ...]:
    """Return an extent for each of n dimensions."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


def _check_groups(inputs: int, groups: int) -> None:
    if inputs % groups != 0:
        raise fail("value", "in_channels must be divisible by groups", ValueError)


class ConvNd(Module):
    """What all convolutions share: their settings, weights and repr."""

    dimensions = 0
    transposed = False

    def __init_subclass__(cls, dimensions: int = 0) -> None:
        super().__init_subclass__()
        if dimensions:
            cls.dimensions = dimensions
        own(cls, "__init__")

    def _set_up(
        self, in_channels: int, out_channels: int, kernel_size: object, stride: object, padding: object, dilation: object,
        output_padding: object, groups: int, bias: bool, padding_mode: str, device: object, dtype: object,
    ) -> None:
        kind = factory(device, dtype)
        n = self.dimensions
        self._check(in_channels, out_channels, groups, padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = repeated(kernel_size, n)
        self.stride = repeated(stride, n)
        self.padding = padding if isinstance(padding, str) else repeated(padding, n)
        self.dilation = repeated(dilation, n)
        self.output_padding = repeated(output_padding, n)
        self.groups = groups
        self.padding_mode = padding_mode
        self.weight = blank(self.shape_of_weight(), kind)
        self.register_parameter("bias", blank((out_channels,), kind) if bias else None)
        self.reset_parameters()

    def _check(self, inputs: int, outputs: int, groups: int, padding: object, stride: object, mode: str) -> None:
        if groups <= 0:
            raise fail("value", "groups must be a positive integer", ValueError)
        _check_groups(inputs, groups)
        if outputs % groups != 0:
            raise fail("value", "out_channels must be divisible by groups", ValueError)
        if isinstance(padding, str):
            if padding not in {"same", "valid"}:
                message = f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                raise fail("value", message, ValueError)
            if padding == "same" and any(step != 1 for step in repeated(stride, self.dimensions)):
                raise fail("value", "padding='same' is not supported for strided convolutions", ValueError)
        if mode not in _MODES:
            listed = "{" + ", ".join(repr(one) for one in _MODES) + "}"
            raise fail("value", f"padding_mode must be one of {listed}, but got padding_mode='{mode}'", ValueError)

    def shape_of_weight(self) -> tuple[int, ...]:
        """Return the shape that the weight has for so many channels. Raises ValueError where the groups do not divide them."""
        _check_groups(self.in_channels, self.groups)
        channels = self.in_channels, self.out_channels
        outer, inner = channels if self.transposed else reversed(channels)
        return outer, inner // self.groups, *self.kernel_size

    def reset_parameters(self) -> None:
        """Draw the weight, then the bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init.fans(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return channels, extents and what differs from the defaults."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += differing(
            self, padding=(0,) * len(self.padding), dilation=(1,) * len(self.dilation),
            output_padding=(0,) * len(self.output_padding), groups=1,
        )
        if self.bias is None:
            text += ", bias=False"
        return text + differing(self, padding_mode="zeros")


class _Conv(ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: object, stride: object = 1, padding: object = 0, dilation: object = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: object = None, dtype: object = None,
    ) -> None:
        super().__init__()
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode, device, dtype
        )

    def forward(self, input: Tensor) -> Tensor:
        """Convolve, after padding by another mode than zeros if asked."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input = functional("pad")(input, self._around(), mode=self.padding_mode)
            padding = (0,) * self.dimensions
        convolve = functional(f"conv{self.dimensions}d")
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _around(self) -> list[int]:
        if self.padding == "valid":
            return [0] * (2 * self.dimensions)
        around: list[int] = []
        for dim in reversed(range(self.dimensions)):
            if self.padding == "same":
                total = self.dilation[dim] * (self.kernel_size[dim] - 1)
                around += [total // 2, total - total // 2]
            else:
                around += [int(self.padding[dim])] * 2
        return around


class Conv1d(_Conv, dimensions=1):
    """Convolution over (N, C, L)."""


class Conv2d(_Conv, dimensions=2):
    """Convolution over (N, C, H, W)."""


class Conv3d(_Conv, dimensions=3):
    """Convolution over (N, C, D, H, W)."""


class _ConvTranspose(ConvNd):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: object, stride: object = 1, padding: object = 0,
        output_padding: object = 0, groups: int = 1, bias: bool = True, dilation: object = 1, padding_mode: str = "zeros",
        device: object = None, dtype: object = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            name = type(self).__name__
            raise fail("value", f'Only "zeros" padding mode is supported for {name}', ValueError)
        self._set_up(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias, padding_mode,
            device, dtype,
        )

    def forward(self, input: Tensor, output_size: object = None) -> Tensor:
        """Convolve, transposed; `output_size` chooses among the sizes that fit."""
        more = self.output_padding if output_size is None else self._output_padding(input, output_size)
        convolve = functional(f"conv_transpose{self.dimensions}d")
        return convolve(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        n = self.dimensions
        wanted = tuple(output_size)[-n:]
        if len(tuple(output_size)) not in {n, n + 1, n + 2}:
            message = (
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {input.ndim} elements "
                f"(got {len(tuple(output_size))})"
            )
            raise fail("value", message, ValueError)
        found = []
        for dim in range(n):
            least = (
                (input.shape[dim - n] - 1) * self.stride[dim] - 2 * self.padding[dim]
                + self.dilation[dim] * (self.kernel_size[dim] - 1) + 1
            )
            extra = wanted[dim] - least
            if not 0 <= extra < self.stride[dim]:
                message = (
                    f"requested an output size of {list(wanted)}, but valid sizes range from {least} to "
                    f"{least + self.stride[dim] - 1} (for an input of {list(input.shape[-n:])})"
                )
                raise fail("value", message, ValueError)
            found.append(extra)
        return tuple(found)


class ConvTranspose1d(_ConvTranspose, dimensions=1):
    """Transposed convolution over (N, C, L)."""


class ConvTranspose2d(_ConvTranspose, dimensions=2):
    """Transposed convolution over (N, C, H, W)."""


class ConvTranspose3d(_ConvTranspose, dimensions=3):
    """Transposed convolution over (N, C, D, H, W)."""
