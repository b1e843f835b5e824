"""torch.distributions.constraints: what the parameters and the values of a distribution have to satisfy."""

from collections.abc import Callable
from typing import Any

from gradsh.api.modes import no_grad
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail


class Constraint:
    """A named condition on the elements (or the last axes) of a tensor; its bounds are attributes."""

    __script_attributes__ = frozenset({"check", "lower_bound", "upper_bound", "event_dim"})
    __script_base__ = True
    event_dim = 0
    lower_bound: Any
    upper_bound: Any

    def __init__(self, title: str, holds: Callable[[Any], object], **bounds: object) -> None:
        self._title = title
        self._holds = holds
        self._bounds = bounds
        for name, bound in bounds.items():
            setattr(self, name, bound)

    def check(self, value: object) -> Any:
        """Return where `value` is valid; nothing of it is recorded."""
        with no_grad():
            return self._holds(value)

    def __repr__(self) -> str:
        return f"{self._title}({', '.join(f'{name}={bound}' for name, bound in self._bounds.items())})"


def is_dependent(constraint: object) -> bool:
    """Return whether a constraint depends on the parameters of its distribution; here each is made for the parameters at hand."""
    del constraint
    return False


def greater_than(lower_bound: object) -> Constraint:
    """Return the constraint `lower_bound < value`."""
    return Constraint("GreaterThan", lambda value: lower_bound < value, lower_bound=lower_bound)


def greater_than_eq(lower_bound: object) -> Constraint:
    """Return the constraint `lower_bound <= value`."""
    return Constraint("GreaterThanEq", lambda value: lower_bound <= value, lower_bound=lower_bound)


def less_than(upper_bound: object) -> Constraint:
    """Return the constraint `value < upper_bound`."""
    return Constraint("LessThan", lambda value: value < upper_bound, upper_bound=upper_bound)


def interval(lower_bound: object, upper_bound: object) -> Constraint:
    """Return the constraint `lower_bound <= value <= upper_bound`."""
    return Constraint(
        "Interval", lambda value: (lower_bound <= value) & (value <= upper_bound),
        lower_bound=lower_bound, upper_bound=upper_bound,
    )


def half_open_interval(lower_bound: object, upper_bound: object) -> Constraint:
    """Return the constraint `lower_bound <= value < upper_bound`."""
    return Constraint(
        "HalfOpenInterval", lambda value: (lower_bound <= value) & (value < upper_bound),
        lower_bound=lower_bound, upper_bound=upper_bound,
    )


def integer_interval(lower_bound: int, upper_bound: int) -> Constraint:
    """Return the constraint that values are whole numbers between two bounds, both allowed."""
    return Constraint(
        "IntegerInterval", lambda value: (value % 1 == 0) & (lower_bound <= value) & (value <= upper_bound),
        lower_bound=lower_bound, upper_bound=upper_bound,
    )


class _Independent(Constraint):
    """A constraint that has to hold for every element of the last axes together."""

    def __init__(self, base: Constraint, axes: int) -> None:
        super().__init__("IndependentConstraint", self._together)
        self._base = base
        self._axes = axes
        self.event_dim = base.event_dim + axes

    def _together(self, value: Tensor) -> Tensor:
        found = self._base.check(value)
        if found.dim() < self._axes:
            raise fail("value", f"Expected value.dim() >= {self.event_dim} but got {value.dim()}", ValueError)
        kept = found.dim() - self._axes
        return found.reshape(*found.shape[:kept], -1).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self._base!r}, {self._axes})"


def independent(base_constraint: Constraint, reinterpreted_batch_ndims: int) -> Constraint:
    """Return the constraint for events that are made of the last axes of a batch."""
    return _Independent(base_constraint, reinterpreted_batch_ndims)


def _sums_to_one(value: Tensor) -> Tensor:
    return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


real = Constraint("Real", lambda value: value == value)  # noqa: PLR0124 - not equal to itself: NaN
boolean = Constraint("Boolean", lambda value: (value == 0) | (value == 1))
nonnegative_integer = Constraint("IntegerGreaterThan", lambda value: (value % 1 == 0) & (value >= 0), lower_bound=0)
one_hot = Constraint("OneHot", lambda value: ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1))
one_hot.event_dim = 1
simplex = Constraint("Simplex", _sums_to_one)
simplex.event_dim = 1
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
real_vector = independent(real, 1)


def _is_factor(value: Any) -> Tensor:
    return (value.tril() == value).flatten(-2).all(-1) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_positive_definite(value: Tensor) -> Tensor:
    symmetric = value.isclose(value.mT, atol=1e-6).all(-2).all(-1)
    return symmetric & (find("linalg_eigvalsh")(value) > 0).all(-1) if symmetric.all() else symmetric


lower_cholesky = Constraint("LowerCholesky", _is_factor)
positive_definite = Constraint("PositiveDefinite", _is_positive_definite)
lower_cholesky.event_dim = positive_definite.event_dim = 2
