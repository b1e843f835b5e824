"""torch.distributions.constraint_registry: the transform that leads from all numbers to the values a constraint admits."""

from typing import Any

from gradsh.api.distributions.constraints import Constraint
from gradsh.api.distributions.transforms import AffineTransform, ComposeTransform, ExpTransform, SigmoidTransform
from gradsh.text.fault import fail

_OTHERS = frozenset({"Simplex", "LowerCholesky", "PositiveDefinite", "IndependentConstraint"})
"""Constraints for which PyTorch has transforms of their own."""


def transform_to(constraint: Constraint) -> Any:
    """Return the transform onto the values that satisfy a constraint; it is a bijection. Raises NotImplementedError."""
    match constraint._title:
        case "Real":
            return ComposeTransform([])
        case "GreaterThan" | "GreaterThanEq":
            return ComposeTransform([ExpTransform(), AffineTransform(constraint.lower_bound, 1)])
        case "LessThan":
            return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])
        case "Interval":
            low, high = constraint.lower_bound, constraint.upper_bound
            if (low, high) == (0, 1):
                return SigmoidTransform()
            return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])
    if constraint._title in _OTHERS:
        message = f"gradsh has no transform for the constraint {constraint!r}"
        raise fail("other", message, NotImplementedError, way="write the transform with tensor operations")
    raise NotImplementedError(f"Cannot transform _{constraint._title} constraints")
