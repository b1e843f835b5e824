"""Linear, Bilinear, Identity, Flatten's neighbours that multiply by weights."""

import math

from gradsh.api.nn import init
from gradsh.api.nn.conversion import blank, factory
from gradsh.api.nn.declared import functional
from gradsh.api.nn.module import Module
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class Identity(Module):
    """Return the input; takes any arguments."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input


class Linear(Module):
    """y = x Wᵀ + b, with `weight` (out, in) and `bias` (out)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: object = None, dtype: object = None) -> None:
        super().__init__()
        kind = factory(device, dtype)
        self.in_features = in_features
        self.out_features = out_features
        self.weight = blank((out_features, in_features), kind)
        self.register_parameter("bias", blank((out_features,), kind) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight, then the bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init.fans(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Map (…, in) to (…, out)."""
        return functional("linear")(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """y = x1 A x2ᵀ + b."""

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: object = None, dtype: object = None
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise fail("value", f"in1_features must be > 0, but got {in1_features}", ValueError)
        kind = factory(device, dtype)
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = blank((out_features, in1_features, in2_features), kind)
        self.register_parameter("bias", blank((out_features,), kind) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight, then the bias."""
        bound = 1 / math.sqrt(self.weight.array.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Map (…, in1) and (…, in2) to (…, out)."""
        return functional("bilinear")(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
