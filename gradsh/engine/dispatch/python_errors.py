"""TypeErrors of functions that PyTorch writes in Python, and of methods without arguments, in Python's words.

Most of `torch.nn.functional` is Python, a part of it and nearly all of `torch` is not: calls that fit no overload fail in different words.
"""

from typing import TYPE_CHECKING

from gradsh.engine.schema.python_functions import is_python
from gradsh.engine.schema.signature import REQUIRED, Signature

if TYPE_CHECKING:
    from gradsh.engine.dispatch.operation import Operation

_DISPATCHED = frozenset({
    "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
})
"""Those that choose by `return_indices` between two functions, of which the one without has an underscore in front of its name."""


def python_words(operation: "Operation", name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> str | None:
    """Return what Python says of a call of a function that PyTorch writes in Python; None where it would take the call."""
    if len(operation.records) != 1 or not is_python(operation.name, operation.spaces):
        return None
    signature = operation.records[0].signature
    title = f"_{name}" if name in _DISPATCHED else name
    unknown = next((key for key in kwargs if key not in signature.keywords), None)
    if unknown is not None:
        return f"{title}() got an unexpected keyword argument '{unknown}'"
    most, given = signature.positional, len(args)
    if given > most and not signature.variadic:
        least = sum(param.default is REQUIRED for param in signature.params[:most])
        takes = f"{most} positional argument{'s' * (most != 1)}" if least == most else f"from {least} to {most} positional arguments"
        return f"{title}() takes {takes} but {given} {'was' if given == 1 else 'were'} given"
    missing = _missing(signature, given, kwargs)
    if missing:
        return f"{title}() missing {len(missing)} required positional argument{'s' * (len(missing) > 1)}: {_listed(missing)}"
    return None


def _missing(signature: Signature, given: int, kwargs: dict[str, object]) -> list[str]:
    known = {signature.keywords[key] for key in kwargs}
    return [
        "input" if param.name == "self" else param.name for place, param in enumerate(signature.params[given:], given)
        if param.default is REQUIRED and not param.variadic and place not in known
    ]


def _listed(names: list[str]) -> str:
    quoted = [f"'{one}'" for one in names]
    if len(quoted) < 3:
        return " and ".join(quoted)
    return f"{', '.join(quoted[:-1])}, and {quoted[-1]}"


def without_arguments(
    operation: "Operation", name: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> str | None:
    """Return what Python says of a call of a method that takes the tensor alone; None of other methods."""
    if len(operation.records) != 1 or len(operation.records[0].signature.params) != 1:
        return None
    if kwargs:
        return f"TensorBase.{name}() takes no keyword arguments"
    return f"TensorBase.{name}() takes no arguments ({len(args) - 1} given)"
