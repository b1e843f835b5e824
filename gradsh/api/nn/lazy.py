"""Layers that take their input size from the first input."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from gradsh.api.nn.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from gradsh.api.nn.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from gradsh.api.nn.linear import Linear
from gradsh.api.nn.module import Module
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.text.fault import fail


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet."""

    __slots__ = ()

    @property
    def shape(self) -> NoReturn:
        """Raise RuntimeError."""
        message = (
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
            "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
            "accessing their attributes."
        )
        raise fail("shape", message)

    def numel(self) -> NoReturn:
        """Raise ValueError."""
        message = (
            "Attempted to use an uninitialized parameter in <method 'numel' of 'torch._C.TensorBase' objects>. This error happens "
            "when you are using a `LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` objects. When "
            "using LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )
        raise fail("shape", message, ValueError)

    nelement = numel

    def __repr__(self) -> str:
        return "<UninitializedParameter>"


class _Lazy(Module):
    """A layer whose weights are empty until it has an input; from then on it is an instance of `becomes`."""

    becomes: type

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for one in self._parameters.values():
            if one is not None:
                object.__setattr__(one, "__class__", UninitializedParameter)

    def has_uninitialized_params(self) -> bool:
        """Tell whether a parameter or buffer is empty: neither an input nor a dictionary has given its shape."""
        return any(one is not None and not one.array.size for one in (*self._parameters.values(), *self._buffers.values()))

    def _complete(self, state: dict[str, object], prefix: str) -> None:
        """Give what is empty the shapes that a dictionary has."""
        super()._complete(state, prefix)
        given = {name.removeprefix(prefix): value for name, value in state.items() if isinstance(value, Tensor)}
        self._fill({name: value.shape for name, value in given.items()})

    def _fill(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        for name, one in (*self._parameters.items(), *self._buffers.items()):
            if one is None or name not in shapes:
                continue
            if isinstance(one, UninitializedParameter):
                object.__setattr__(one, "__class__", Parameter)
            if not one.array.size:
                one.data = one.new_empty(shapes[name])

    def reset_parameters(self) -> None:
        """Draw nothing: there are no weights yet."""

    def forward(self, input: Tensor, *options: Any) -> Any:
        """Give each empty parameter and buffer its shape, draw them, and map the input."""
        empty = self.has_uninitialized_params()
        if empty:
            shapes = self._shapes(input)
            self._fill(dict.fromkeys(self._parameters, ()) | shapes)
        object.__setattr__(self, "__class__", self.becomes)
        if empty:
            self.reset_parameters()
        return self.forward(input, *options)

    def _shapes(self, input: Tensor) -> dict[str, tuple[int, ...]]:
        """Take the size from the input; return the shapes of what depends on it, by name."""
        raise NotImplementedError


class LazyLinear(_Lazy, Linear):
    """A Linear that takes its input size from the first input; from then on it is a Linear."""

    becomes = Linear

    def __init__(self, out_features: int, bias: bool = True, device: object = None, dtype: object = None) -> None:
        super().__init__(0, out_features, bias, device, dtype)

    def forward(self, input: Tensor, *options: Any) -> Any:
        """Take the size, also where a dictionary has given the weights."""
        self.in_features = input.shape[-1]
        return super().forward(input, *options)

    def _shapes(self, input: Tensor) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, self.in_features)}


class _LazyConvNd(_Lazy):
    dimensions: int
    shape_of_weight: Callable[[], tuple[int, ...]]

    def _shapes(self, input: Tensor) -> dict[str, tuple[int, ...]]:
        n = self.dimensions
        if input.ndim not in (n + 1, n + 2):
            message = (
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
            raise fail("shape", message, tensor=input)
        self.in_channels = int(input.shape[-n - 1])
        return {"weight": self.shape_of_weight()}


class _LazyConv(_LazyConvNd):
    def __init__(
        self, out_channels: int, kernel_size: object, stride: object = 1, padding: object = 0, dilation: object = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: object = None, dtype: object = None,
    ) -> None:
        super().__init__(0, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype)


class _LazyConvTranspose(_LazyConvNd):
    def __init__(
        self, out_channels: int, kernel_size: object, stride: object = 1, padding: object = 0, output_padding: object = 0,
        groups: int = 1, bias: bool = True, dilation: object = 1, padding_mode: str = "zeros", device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__(
            0, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation, padding_mode, device, dtype
        )


class _LazyNorm(_Lazy):
    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: object = None, dtype: object = None, *, bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _shapes(self, input: Tensor) -> dict[str, tuple[int, ...]]:
        self.num_features = int(input.shape[1])
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (self.num_features,))


def _lazy(base: type[_Lazy], becomes: type[Module]) -> type[_Lazy]:
    """Return the lazy form of a layer."""
    name = f"Lazy{becomes.__name__}"
    says = f"A {becomes.__name__} that takes its input size from the first input; from then on it is a {becomes.__name__}."
    return type(name, (base, becomes), {"becomes": becomes, "__doc__": says, "__module__": __name__})


LazyConv1d, LazyConv2d, LazyConv3d = (_lazy(_LazyConv, kind) for kind in (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(_LazyConvTranspose, kind) for kind in (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (_lazy(_LazyNorm, kind) for kind in (BatchNorm1d, BatchNorm2d, BatchNorm3d))
