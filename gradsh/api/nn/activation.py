"""Activation functions as modules."""

from typing import Any

from gradsh.api.nn.conversion import constant, factory
from gradsh.api.nn.declared import REQUIRED, Declared, functional, takes
from gradsh.api.nn.init import constant_
from gradsh.api.nn.module import Module
from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.text.fault import fail


class ReLU(Declared, settings=takes(inplace=False)):
    """max(0, x)."""

    def forward(self, input: Tensor) -> Tensor:
        """Call relu, in place if asked."""
        return functional("relu_" if self.inplace else "relu")(input)


class Threshold(Declared, function="threshold"):
    """x where x > threshold, else value."""

    _settings = takes(threshold=REQUIRED, value=REQUIRED, inplace=False)


class RReLU(Declared, function="rrelu"):
    """Leaky relu with a random slope in training."""

    _settings = takes(lower=1.0 / 8, upper=1.0 / 3, inplace=False)

    def passed(self) -> dict[str, object]:
        """Return the settings and the mode."""
        return {**super().passed(), "training": self.training}


class Hardtanh(Declared, function="hardtanh"):
    """x cut off to [min_val, max_val]."""

    _settings = takes(min_val=-1.0, max_val=1.0, inplace=False)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        if not self.max_val > self.min_val:
            raise fail("value", "max_val must be greater than min_val", ValueError)


class ReLU6(Declared, function="relu6", settings=takes(inplace=False)):
    """x cut off to [0, 6]."""


class Sigmoid(Declared, function="sigmoid"):
    """1 / (1 + exp(-x))."""


class Hardsigmoid(Declared, function="hardsigmoid", settings=takes(inplace=False)):
    """Sigmoid in three straight pieces."""

    _shown = ()


class Tanh(Declared, function="tanh"):
    """tanh(x)."""


class SiLU(Declared, function="silu", settings=takes(inplace=False)):
    """x * sigmoid(x)."""


class Mish(Declared, function="mish", settings=takes(inplace=False)):
    """x * tanh(softplus(x))."""


class Hardswish(Declared, function="hardswish", settings=takes(inplace=False)):
    """SiLU in pieces."""

    _shown = ()


class ELU(Declared, function="elu", settings=takes(alpha=1.0, inplace=False)):
    """x, or alpha * (exp(x) - 1) below 0."""


class CELU(Declared, function="celu", settings=takes(alpha=1.0, inplace=False)):
    """ELU with a continuous derivative."""


class SELU(Declared, function="selu", settings=takes(inplace=False)):
    """ELU with the self-normalising constants."""


class GLU(Declared, function="glu", settings=takes(dim=-1)):
    """The first half times the sigmoid of the second half of a dimension."""


class GELU(Declared, function="gelu", settings=takes(approximate="none")):
    """x times the normal distribution function of x."""

    def extra_repr(self) -> str:
        """Return the approximation."""
        return f"approximate={self.approximate!r}"


class Hardshrink(Declared, function="hardshrink", settings=takes(lambd=0.5)):
    """x, or 0 where |x| <= lambd."""

    def extra_repr(self) -> str:
        """Return lambd."""
        return str(self.lambd)


class Softshrink(Hardshrink, function="softshrink"):
    """x moved towards 0 by lambd."""


class LeakyReLU(Declared, function="leaky_relu"):
    """x, or negative_slope * x below 0."""

    _settings = takes(negative_slope=0.01, inplace=False)


class LogSigmoid(Declared, function="logsigmoid"):
    """log(sigmoid(x))."""


class Softplus(Declared, function="softplus", settings=takes(beta=1.0, threshold=20.0)):
    """log(1 + exp(beta * x)) / beta."""


class Softsign(Declared, function="softsign"):
    """x / (1 + |x|)."""


class Tanhshrink(Declared, function="tanhshrink"):
    """x - tanh(x)."""


class PReLU(Module):
    """x, or weight * x below 0, with a learned weight."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: object = None, dtype: object = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(constant((num_parameters,), 0, factory(device, dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to its initial value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Call prelu."""
        return functional("prelu")(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of weights."""
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Declared, settings=takes(dim=None)):
    def forward(self, input: Any) -> Tensor:
        """Call the operation along the dimension, guessed as PyTorch does where none was given."""
        dim = self.dim
        if dim is None:
            current().warning(
                f"Implicit dimension choice for {self._function} has been deprecated. Change the call to include dim=X as an "
                "argument."
            )
            dim = 0 if input.ndim in {0, 1, 3} else 1
        return functional(self._function)(input, dim)


class Softmax(_AlongDim, function="softmax"):
    """exp(x) divided by its sum along a dimension."""


class LogSoftmax(_AlongDim, function="log_softmax"):
    """The logarithm of softmax."""


class Softmin(_AlongDim, function="softmin"):
    """softmax(-x)."""


class Softmax2d(Module):
    """Softmax over the channels of (C, H, W) or (N, C, H, W)."""

    def forward(self, input: Tensor) -> Any:
        """Call softmax along the channels."""
        if input.ndim not in {3, 4}:
            message = f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead"
            raise fail("shape", message, ValueError, tensor=input)
        return functional("softmax")(input, -3)
