"""Named tuples of results, PyTorch's torch.return_types."""

from collections.abc import Sequence
from typing import Any

_TYPES: dict[str, type] = {}


class NamedResult(tuple[Any, ...]):
    """Several results that also have names; prints as torch.return_types does."""

    __slots__ = ()
    names: tuple[str, ...] = ()
    operation = ""

    def __getattr__(self, name: str) -> Any:
        if name in self.names:
            return self[self.names.index(name)]
        raise AttributeError(f"'torch.return_types.{self.operation}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        rows = ",\n".join(f"{name}={value!r}" for name, value in zip(self.names, self, strict=True))
        return f"torch.return_types.{self.operation}(\n{rows})"


def named_result(operation: str, names: tuple[str, ...], results: Sequence[object]) -> NamedResult:
    """Return the results as the named tuple of an operation."""
    found = _TYPES.get(operation)
    if found is None:
        allowed = frozenset({*names, "count", "index"})
        parts = {
            "__slots__": (), "names": names, "operation": operation, "__script_attributes__": allowed,
            "__module__": "torch.return_types",
        }
        found = _TYPES[operation] = type(operation, (NamedResult,), parts)
    return found(results)  # type: ignore[no-any-return]
