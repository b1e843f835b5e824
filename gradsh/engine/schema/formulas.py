"""What a derivative's formula computes, declared where the fast paths make something shorter of it (a test holds it to that)."""

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def identity(formula: F) -> F:
    """Declare a formula that returns the gradient as it is."""
    formula.computes = "identity"  # type: ignore[attr-defined]
    return formula


def product(formula: F) -> F:
    """Declare a formula of the gradient and one saved tensor that returns their product."""
    formula.computes = "product"  # type: ignore[attr-defined]
    return formula


def computes(formula: object) -> str:
    """Return what a formula is declared to compute: "identity", "product" or ""."""
    return getattr(formula, "computes", "")
