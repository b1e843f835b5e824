"""Activation functions as modules."""

from typing import Any

from gradsh.api.nn.conversion import constant, factory
from gradsh.api.nn.declared import REQUIRED, Declared, functional, takes
from gradsh.api.nn.module import Module
from gradsh.engine.tensor import Parameter
from gradsh.text.fault import fail


class ReLU(Declared):
    """max(0, x)."""

    settings = takes(inplace=False)

    def forward(self, input: Any) -> Any:
        """Call relu, in place if asked."""
        return functional("relu_" if self.inplace else "relu")(input)


class Threshold(Declared):
    """x where x > threshold, else value."""

    function = "threshold"
    settings = takes(threshold=REQUIRED, value=REQUIRED, inplace=False)


class RReLU(Declared):
    """Leaky relu with a random slope in training."""

    function = "rrelu"
    settings = takes(lower=1.0 / 8, upper=1.0 / 3, inplace=False)

    def passed(self) -> dict[str, Any]:
        """Return the settings and the mode."""
        return {**super().passed(), "training": self.training}


class Hardtanh(Declared):
    """x cut off to [min_val, max_val]."""

    function = "hardtanh"
    settings = takes(min_val=-1.0, max_val=1.0, inplace=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.max_val > self.min_val:
            raise fail("value", "max_val must be greater than min_val", ValueError)


class ReLU6(Declared):
    """x cut off to [0, 6]."""

    function = "relu6"
    settings = takes(inplace=False)


class Sigmoid(Declared):
    """1 / (1 + exp(-x))."""

    function = "sigmoid"


class Hardsigmoid(Declared):
    """Sigmoid in three straight pieces."""

    function = "hardsigmoid"
    settings = takes(inplace=False)
    shown = ()


class Tanh(Declared):
    """tanh(x)."""

    function = "tanh"


class SiLU(Declared):
    """x * sigmoid(x)."""

    function = "silu"
    settings = takes(inplace=False)


class Mish(Declared):
    """x * tanh(softplus(x))."""

    function = "mish"
    settings = takes(inplace=False)


class Hardswish(Declared):
    """SiLU in pieces."""

    function = "hardswish"
    settings = takes(inplace=False)
    shown = ()


class ELU(Declared):
    """x, or alpha * (exp(x) - 1) below 0."""

    function = "elu"
    settings = takes(alpha=1.0, inplace=False)


class CELU(Declared):
    """ELU with a continuous derivative."""

    function = "celu"
    settings = takes(alpha=1.0, inplace=False)


class SELU(Declared):
    """ELU with the self-normalising constants."""

    function = "selu"
    settings = takes(inplace=False)


class GLU(Declared):
    """The first half times the sigmoid of the second half of a dimension."""

    function = "glu"
    settings = takes(dim=-1)


class GELU(Declared):
    """x times the normal distribution function of x."""

    function = "gelu"
    settings = takes(approximate="none")

    def extra_repr(self) -> str:
        """Return the approximation."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Declared):
    """x, or 0 where |x| <= lambd."""

    function = "hardshrink"
    settings = takes(lambd=0.5)

    def extra_repr(self) -> str:
        """Return lambd."""
        return str(self.lambd)


class Softshrink(Hardshrink):
    """x moved towards 0 by lambd."""

    function = "softshrink"


class LeakyReLU(Declared):
    """x, or negative_slope * x below 0."""

    function = "leaky_relu"
    settings = takes(negative_slope=0.01, inplace=False)


class LogSigmoid(Declared):
    """log(sigmoid(x))."""

    function = "logsigmoid"


class Softplus(Declared):
    """log(1 + exp(beta * x)) / beta."""

    function = "softplus"
    settings = takes(beta=1.0, threshold=20.0)


class Softsign(Declared):
    """x / (1 + |x|)."""

    function = "softsign"


class Tanhshrink(Declared):
    """x - tanh(x)."""

    function = "tanhshrink"


class PReLU(Module):
    """x, or weight * x below 0, with a learned weight."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(constant((num_parameters,), 0, factory(device, dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its initial value."""
        from gradsh.api.nn.init import constant_

        constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """Call prelu."""
        return functional("prelu")(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of weights."""
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Declared):
    settings = takes(dim=None)

    def forward(self, input: Any) -> Any:
        """Call the operation along the dimension, guessed as PyTorch does where none was given."""
        dim = self.dim
        if dim is None:
            from gradsh.engine.ambient import current

            current().warning(
                f"Implicit dimension choice for {self.function} has been deprecated. Change the call to include dim=X as an "
                "argument."
            )
            dim = 0 if input.ndim in {0, 1, 3} else 1
        return functional(self.function)(input, dim)


class Softmax(_AlongDim):
    """exp(x) divided by its sum along a dimension."""

    function = "softmax"


class LogSoftmax(_AlongDim):
    """The logarithm of softmax."""

    function = "log_softmax"


class Softmin(_AlongDim):
    """softmax(-x)."""

    function = "softmin"


class Softmax2d(Module):
    """Softmax over the channels of (C, H, W) or (N, C, H, W)."""

    def forward(self, input: Any) -> Any:
        """Call softmax along the channels."""
        if input.ndim not in {3, 4}:
            message = f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead"
            raise fail("shape", message, ValueError, tensor=input)
        return functional("softmax")(input, -3)
