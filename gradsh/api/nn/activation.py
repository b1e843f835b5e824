"""Activation functions as modules."""

from typing import Any

from gradsh.api.nn.conversion import constant, factory
from gradsh.api.nn.declared import REQUIRED, Declared, functional, takes
from gradsh.api.nn.module import Module
from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Parameter
from gradsh.text.fault import fail


class ReLU(Declared):
    """max(0, x)."""

    _settings = takes(inplace=False)

    def forward(self, input: Any) -> Any:
        """Call relu, in place if asked."""
        return functional("relu_" if self.inplace else "relu")(input)


class Threshold(Declared):
    """x where x > threshold, else value."""

    _function = "threshold"
    _settings = takes(threshold=REQUIRED, value=REQUIRED, inplace=False)


class RReLU(Declared):
    """Leaky relu with a random slope in training."""

    _function = "rrelu"
    _settings = takes(lower=1.0 / 8, upper=1.0 / 3, inplace=False)

    def passed(self) -> dict[str, Any]:
        """Return the settings and the mode."""
        return {**super().passed(), "training": self.training}


class Hardtanh(Declared):
    """x cut off to [min_val, max_val]."""

    _function = "hardtanh"
    _settings = takes(min_val=-1.0, max_val=1.0, inplace=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.max_val > self.min_val:
            raise fail("value", "max_val must be greater than min_val", ValueError)


class ReLU6(Declared):
    """x cut off to [0, 6]."""

    _function = "relu6"
    _settings = takes(inplace=False)


class Sigmoid(Declared):
    """1 / (1 + exp(-x))."""

    _function = "sigmoid"


class Hardsigmoid(Declared):
    """Sigmoid in three straight pieces."""

    _function = "hardsigmoid"
    _settings = takes(inplace=False)
    _shown = ()


class Tanh(Declared):
    """tanh(x)."""

    _function = "tanh"


class SiLU(Declared):
    """x * sigmoid(x)."""

    _function = "silu"
    _settings = takes(inplace=False)


class Mish(Declared):
    """x * tanh(softplus(x))."""

    _function = "mish"
    _settings = takes(inplace=False)


class Hardswish(Declared):
    """SiLU in pieces."""

    _function = "hardswish"
    _settings = takes(inplace=False)
    _shown = ()


class ELU(Declared):
    """x, or alpha * (exp(x) - 1) below 0."""

    _function = "elu"
    _settings = takes(alpha=1.0, inplace=False)


class CELU(Declared):
    """ELU with a continuous derivative."""

    _function = "celu"
    _settings = takes(alpha=1.0, inplace=False)


class SELU(Declared):
    """ELU with the self-normalising constants."""

    _function = "selu"
    _settings = takes(inplace=False)


class GLU(Declared):
    """The first half times the sigmoid of the second half of a dimension."""

    _function = "glu"
    _settings = takes(dim=-1)


class GELU(Declared):
    """x times the normal distribution function of x."""

    _function = "gelu"
    _settings = takes(approximate="none")

    def extra_repr(self) -> str:
        """Return the approximation."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Declared):
    """x, or 0 where |x| <= lambd."""

    _function = "hardshrink"
    _settings = takes(lambd=0.5)

    def extra_repr(self) -> str:
        """Return lambd."""
        return str(self.lambd)


class Softshrink(Hardshrink):
    """x moved towards 0 by lambd."""

    _function = "softshrink"


class LeakyReLU(Declared):
    """x, or negative_slope * x below 0."""

    _function = "leaky_relu"
    _settings = takes(negative_slope=0.01, inplace=False)


class LogSigmoid(Declared):
    """log(sigmoid(x))."""

    _function = "logsigmoid"


class Softplus(Declared):
    """log(1 + exp(beta * x)) / beta."""

    _function = "softplus"
    _settings = takes(beta=1.0, threshold=20.0)


class Softsign(Declared):
    """x / (1 + |x|)."""

    _function = "softsign"


class Tanhshrink(Declared):
    """x - tanh(x)."""

    _function = "tanhshrink"


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
    _settings = takes(dim=None)

    def forward(self, input: Any) -> Any:
        """Call the operation along the dimension, guessed as PyTorch does where none was given."""
        dim = self.dim
        if dim is None:
            current().warning(
                f"Implicit dimension choice for {self._function} has been deprecated. Change the call to include dim=X as an "
                "argument."
            )
            dim = 0 if input.ndim in {0, 1, 3} else 1
        return functional(self._function)(input, dim)


class Softmax(_AlongDim):
    """exp(x) divided by its sum along a dimension."""

    _function = "softmax"


class LogSoftmax(_AlongDim):
    """The logarithm of softmax."""

    _function = "log_softmax"


class Softmin(_AlongDim):
    """softmax(-x)."""

    _function = "softmin"


class Softmax2d(Module):
    """Softmax over the channels of (C, H, W) or (N, C, H, W)."""

    def forward(self, input: Any) -> Any:
        """Call softmax along the channels."""
        if input.ndim not in {3, 4}:
            message = f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead"
            raise fail("shape", message, ValueError, tensor=input)
        return functional("softmax")(input, -3)
