"""Pooling: max, average, adaptive, power-average, and the inverse of max pooling."""

from typing import Any

from gradsh.api.nn.conv import repeated
from gradsh.api.nn.declared import REQUIRED, Declared, functional, takes
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class _Strided(Declared):
    """A window that moves by its own size, unless a stride is given."""

    stride: Any

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPool(_Strided):
    _settings = takes(
        kernel_size=REQUIRED, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False
    )
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


class MaxPool1d(_MaxPool, function="max_pool1d"):
    """The largest element of each window of (N, C, L)."""


class MaxPool2d(_MaxPool, function="max_pool2d"):
    """The largest element of each window of (N, C, H, W)."""


class MaxPool3d(_MaxPool, function="max_pool3d"):
    """The largest element of each window of (N, C, D, H, W)."""


class _MaxUnpool(Declared, settings=takes(kernel_size=REQUIRED, stride=None, padding=0)):
    kernel_size: object
    padding: Any
    stride: Any

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        dimensions = int(self._function[-2])
        stride = self.kernel_size if self.stride is None else self.stride
        self.kernel_size = repeated(self.kernel_size, dimensions)
        self.stride = repeated(stride, dimensions)
        self.padding = repeated(self.padding, dimensions)

    def forward(self, input: Tensor, indices: Tensor, output_size: object = None) -> Tensor:  # type: ignore[override]
        """Put the elements back where max pooling took them."""
        return functional(self._function)(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool, function="max_unpool1d"):
    """The inverse of MaxPool1d."""


class MaxUnpool2d(_MaxUnpool, function="max_unpool2d"):
    """The inverse of MaxPool2d."""


class MaxUnpool3d(_MaxUnpool, function="max_unpool3d"):
    """The inverse of MaxPool3d."""


class _AvgPool(_Strided):
    _settings = takes(
        kernel_size=REQUIRED, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    )
    _shown = ("kernel_size", "stride", "padding")


class AvgPool1d(_AvgPool, function="avg_pool1d"):
    """The mean of each window of (N, C, L)."""

    _settings = takes(kernel_size=REQUIRED, stride=None, padding=0, ceil_mode=False, count_include_pad=True)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, repeated(getattr(self, name), 1))


class AvgPool2d(_AvgPool, function="avg_pool2d"):
    """The mean of each window of (N, C, H, W)."""


class AvgPool3d(_AvgPool, function="avg_pool3d"):
    """The mean of each window of (N, C, D, H, W)."""


class _LPPool(Declared):
    _settings = takes(norm_type=REQUIRED, kernel_size=REQUIRED, stride=None, ceil_mode=False)


class LPPool1d(_LPPool, function="lp_pool1d"):
    """The p-norm of each window of (N, C, L)."""


class LPPool2d(_LPPool, function="lp_pool2d"):
    """The p-norm of each window of (N, C, H, W)."""


class LPPool3d(_LPPool, function="lp_pool3d"):
    """The p-norm of each window of (N, C, D, H, W)."""


class _AdaptiveMaxPool(Declared, settings=takes(output_size=REQUIRED, return_indices=False)):
    _shown = ("output_size",)


class AdaptiveMaxPool1d(_AdaptiveMaxPool, function="adaptive_max_pool1d"):
    """Max pooling to a given size, over (N, C, L)."""


class AdaptiveMaxPool2d(_AdaptiveMaxPool, function="adaptive_max_pool2d"):
    """Max pooling to a given size, over (N, C, H, W)."""


class AdaptiveMaxPool3d(_AdaptiveMaxPool, function="adaptive_max_pool3d"):
    """Max pooling to a given size, over (N, C, D, H, W)."""


class _AdaptiveAvgPool(Declared, settings=takes(output_size=REQUIRED)):
    """Average pooling to a given size."""


class AdaptiveAvgPool1d(_AdaptiveAvgPool, function="adaptive_avg_pool1d"):
    """Average pooling to a given size, over (N, C, L)."""


class AdaptiveAvgPool2d(_AdaptiveAvgPool, function="adaptive_avg_pool2d"):
    """Average pooling to a given size, over (N, C, H, W)."""


class AdaptiveAvgPool3d(_AdaptiveAvgPool, function="adaptive_avg_pool3d"):
    """Average pooling to a given size, over (N, C, D, H, W)."""


class _FractionalMaxPool(Declared):
    """Max pooling whose windows' random steps lead to a given size, or to a given part of the input's."""

    _settings = takes(kernel_size=REQUIRED, output_size=None, output_ratio=None, return_indices=False, _random_samples=None)
    _shown = ()
    output_size: object
    output_ratio: Any

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        samples = self.__dict__.pop("_random_samples")
        self.register_buffer("_random_samples", samples)
        given, dimensions = self.output_ratio, int(self._function[-2])
        for name in ("kernel_size", "output_size", "output_ratio"):
            value = getattr(self, name)
            setattr(self, name, None if value is None else repeated(value, dimensions))
        message = ""
        if self.output_size is None and self.output_ratio is None:
            message = f"{type(self).__name__} requires specifying either an output size, or a pooling ratio"
        elif self.output_size is not None and self.output_ratio is not None:
            message = "only one of output_size and output_ratio may be specified"
        elif self.output_ratio is not None and not all(0 < one < 1 for one in self.output_ratio):
            message = f"output_ratio must be between 0 and 1 (got {given})"
        if message:
            raise fail("value", message, ValueError)


class FractionalMaxPool2d(_FractionalMaxPool, function="fractional_max_pool2d"):
    """Max pooling with random steps, over (N, C, H, W)."""


class FractionalMaxPool3d(_FractionalMaxPool, function="fractional_max_pool3d"):
    """Max pooling with random steps, over (N, C, D, H, W)."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        size = self._bind(args, kwargs)["kernel_size"]
        if any(one <= 0 for one in repeated(size, 3)):
            raise fail("value", f"kernel_size must be greater than 0, but got {size}", ValueError)
        super().__init__(*args, **kwargs)
