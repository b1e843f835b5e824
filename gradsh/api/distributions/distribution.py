"""What distributions have in common: shapes, validation, expansion, parameters computed on first use."""

from collections.abc import Callable
from typing import Any, Self

from gradsh.api.distributions.constraints import Constraint
from gradsh.api.modes import enable_grad, no_grad
from gradsh.api.settings import finfo, get_default_dtype
from gradsh.engine.ambient import current
from gradsh.engine.attribute_names import ScriptBase, read
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail

NUMBERS = (int, float, bool)


class Computed:
    """An attribute that is computed, with recording on, when it is first read, and then kept."""

    def __init__(self, compute: Callable[[Any], object]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value


class Constraints:
    """The `arg_constraints` of a class: a dictionary made anew whenever it is asked for, since scripts share the class."""

    def __init__(self, **constraints: Constraint) -> None:
        self._constraints = constraints

    def __get__(self, instance: object, owner: type | None = None) -> dict[str, Constraint]:
        return dict(self._constraints)


def broadcast_all(*values: object) -> tuple[Any, ...]:
    """Return the parameters as tensors of one shape; numbers take the dtype of the first tensor."""
    if not all(isinstance(one, (Tensor, *NUMBERS)) for one in values):
        message = (
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
        raise fail("value", message, ValueError)
    dtype = next((one.dtype for one in values if isinstance(one, Tensor)), None) or get_default_dtype()
    tensors = [one if isinstance(one, Tensor) else find("tensor")(one, dtype=dtype) for one in values]
    return find("broadcast_tensors")(*tensors)


def shape_of(first: Any, *parameters: object) -> Size:
    """Return the batch shape: none when all parameters are numbers, else the shape they have together."""
    return Size() if all(isinstance(one, NUMBERS) for one in parameters) else first.size()


def to_logits(probs: Tensor, binary: bool = False) -> Tensor:
    """Return the logits of probabilities, which are kept away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    kept = probs.clamp(min=eps, max=1 - eps)
    return kept.log() - (-kept).log1p() if binary else kept.log()


def sum_rightmost(value: Tensor, axes: int) -> Tensor:
    """Sum over the last `axes` axes at once."""
    return value if axes == 0 else value.reshape((*value.shape[:-axes], -1)).sum(-1)


def abstract() -> Exception:
    """Return the error of a method that a distribution does not have."""
    error = fail("type", "", NotImplementedError)
    error.args = ()  # PyTorch raises the bare class
    return error


class Distribution(ScriptBase):
    """Base of distributions. Those derived give their parameters as tensors and set `arg_constraints` and `support`."""

    has_rsample = False
    has_enumerate_support = False
    _validate_args = True
    _parameters: tuple[str, ...] = ()
    _parts: tuple[str, ...] = ()
    """The distributions that this one is made of and that are expanded with it."""

    def __init__(
        self, batch_shape: Any = Size(), event_shape: Size = Size(), validate_args: bool | None = None  # noqa: B008
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _constraints(self) -> dict[str, Constraint]:
        try:
            return dict(self.arg_constraints)
        except NotImplementedError:
            current().warning(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation."
            )
            return {}

    def _validate_parameters(self) -> None:
        for name, constraint in self._constraints().items():
            if name not in self.__dict__ and isinstance(read(type(self), name, None), Computed):
                continue
            value = read(self, name)
            if not constraint.check(value).all():
                message = (
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )
                raise fail("value", message, ValueError)

    def _validate_sample(self, value: object) -> None:
        if not isinstance(value, Tensor):
            raise fail("value", "The value argument to log_prob must be a Tensor", ValueError)
        self._validate_shape(value.size())
        try:
            support = self.support
        except NotImplementedError:
            current().warning(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation."
            )
            return
        if not support.check(value).all():
            message = (
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )
            raise fail("value", message, ValueError)

    def _validate_shape(self, shape: Any) -> None:
        if shape[len(shape) - len(self._event_shape):] != self._event_shape:
            message = f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}."
            raise fail("shape", message, ValueError)
        whole = self._batch_shape + self._event_shape
        for ours, theirs in zip(reversed(whole), reversed(shape), strict=False):
            if ours != theirs and 1 not in (ours, theirs):
                message = f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {whole}."
                raise fail("shape", message, ValueError)

    def expand(self, batch_shape: Any) -> Self:
        """Return this distribution with its parameters expanded to `batch_shape`, as views."""
        if not self._parameters and not self._parts:
            raise abstract()
        shape = Size(batch_shape)
        made = self._expanded(shape, dict.fromkeys(self._parameters, shape))
        for name in self._parts:
            setattr(made, name, getattr(self, name).expand(shape))
        return made

    def _expanded(self, batch_shape: Size, shapes: dict[str, Size]) -> Self:
        made = object.__new__(type(self))
        for name, value in self.__dict__.items():
            made.__dict__[name] = value.expand(shapes[name]) if name in shapes else value
        made._batch_shape = batch_shape
        return made

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The parameters' constraints by name."""
        raise abstract()

    @property
    def support(self) -> Constraint:
        """The constraint on values."""
        raise abstract()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise abstract()

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise fail("type", f"{type(self)} does not implement mode", NotImplementedError)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise abstract()

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample, without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: object = ()) -> Tensor:
        """Return a sample through which gradients reach the parameters."""
        raise abstract()

    def log_prob(self, value: object) -> Tensor:
        """Return the log of the density (or probability) at `value`."""
        raise abstract()

    def cdf(self, value: object) -> Tensor:
        """Return the cumulative probability up to `value`."""
        raise abstract()

    def icdf(self, value: object) -> Tensor:
        """Return the value up to which the cumulative probability is `value`."""
        raise abstract()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values, along a new first axis."""
        raise abstract()

    def entropy(self) -> Tensor:
        """Return the entropy."""
        raise abstract()

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _checked(self, value: object) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        held = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        shown = (f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in held)
        return f"{type(self).__name__}({', '.join(shown)})"
