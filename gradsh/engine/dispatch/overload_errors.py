"""The TypeError for a call that fits no overload of an operation, in PyTorch's words.

As a function an operation's first parameter is called `input`; as a method it is not counted.
"""

from typing import TYPE_CHECKING

from gradsh.engine.dispatch.python_errors import python_words, without_arguments
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.schema.signature import MISMATCH, REQUIRED, Param, Signature, class_name
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.engine.dispatch.operation import Operation


def mismatch(
    operation: "Operation", args: tuple[object, ...], kwargs: dict[str, object], method: bool = False
) -> Exception:
    """Return the error; `args` of a method begin with the tensor."""
    name = operation.name.removeprefix("F_").removeprefix("Tensor_").replace("_legacy_tensor", "new")  # PyTorch's word for it
    said = without_arguments(operation, name, args, kwargs) if method else python_words(operation, name, args, kwargs)
    if said is not None:
        return fail("type", said, TypeError, operation=operation)
    signatures = [record.signature for record in operation.records]
    if (unread := _unread(name, signatures, args)) is not None:
        return fail("type", unread, TypeError, operation=operation)
    several = len(signatures) > 1 or signatures[0].keywords.keys() >= {"generator", "dtype"}  # PyTorch's are two: with one, without
    likely = [one for one in signatures if not several or _takes(one, len(args) + len(kwargs))]
    if len(likely) == 1:
        message = _single(name, likely[0], args, kwargs, method)
        if message is not None:
            return fail("type", message, TypeError, operation=operation)
    shown = [class_name(value) for value in args[method:]] + [f"{key}={class_name(v)}" for key, v in kwargs.items()]
    end = ", " if kwargs and not args[method:] else ""
    message = f"{name}() received an invalid combination of arguments - got ({', '.join(shown)}{end}), but expected"
    if not several:
        message += f" {parameters(signatures[0], method)}"
    else:
        message += " one of:\n"
        for each in signatures:
            message += f" * {parameters(each, method)}\n{_why(each, args[1:], kwargs, end) if method else ''}"
    return fail("type", message, TypeError, operation=operation)


def _unread(name: str, signatures: list[Signature], args: tuple[object, ...]) -> str | None:
    """Return the sentence for sizes of which the first is an integer and another is not: the first one chooses the overload."""
    for signature in signatures:
        for place, (param, value) in enumerate(zip(signature.params, args, strict=False)):
            given = args[place:] if param.variadic and not isinstance(value, (list, tuple)) else value
            if param.type == "ints" and isinstance(given, (list, tuple)):
                bad = next((number for number, one in enumerate(given) if param.convert([one]) is MISMATCH), 0)
                if bad:
                    found = f'"type must be tuple of ints,but got {class_name(given[bad])}"'
                    return f"{name}(): argument '{param.name}' failed to unpack the object at pos {bad + 1} with error {found}"
            if param.refuses(value):
                break
    return None


def _takes(signature: Signature, count: int) -> bool:
    """Whether a signature takes that many arguments, whatever they are."""
    needed = sum(param.default is REQUIRED for param in signature.params)
    return needed <= count <= len(signature.params)


def _why(signature: Signature, args: tuple[object, ...], kwargs: dict[str, object], end: str) -> str:
    """Say why a method's call does not fit an overload of as many parameters as were given, as PyTorch does."""
    params = signature.params[1:]
    if len(params) != len(args) + len(kwargs):
        return ""
    unknown = [key for key in kwargs if key not in signature.keywords]
    if unknown:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    given = [("", value, param) for value, param in zip(args, params, strict=False)]
    for key, value in kwargs.items():
        given.append((f"{key}=", value, params[(signature.keywords[key] or 1) - 1]))
    marks = ["!" if param.refuses(value) else "" for _, value, param in given]
    shown = ", ".join(
        f"{mark}{key}{type_name(value)}{mark}" for mark, (key, value, _) in zip(marks, given, strict=True)
    )
    return f"      didn't match because some of the arguments have invalid types: ({shown}{end})\n"


def _single(
    name: str, signature: Signature, args: tuple[object, ...], kwargs: dict[str, object], method: bool
) -> str | None:
    """Return the sentence about what is wrong with a call of the only overload, None where a list says it better."""
    if len(args) > signature.positional:
        most, given = signature.positional - method, len(args) - method
        least = sum(param.default is REQUIRED for param in signature.params) - method
        takes = f"{most} positional argument{'s' * (most != 1)}" if least == most else f"from {least} to {most} positional arguments"
        return f"{name}() takes {takes} but {given} {'was' if given == 1 and least == most else 'were'} given"
    for place, value in enumerate(args):
        param = signature.params[place]
        if param.refuses(value):
            if param.type == "Tensors" and isinstance(value, (list, tuple)):
                bad = next(n for n, one in enumerate(value) if not isinstance(one, Tensor))
                return f"expected Tensor as element {bad} in argument {place}, but got {type_name(value[bad])}"
            wanted = _word(param) if param.type != "ints" else "tuple of ints"
            shown = _called(param, place, method)
            position = place + 1 - method
            if param.type == "ints" and isinstance(value, (list, tuple)):
                bad = next(n for n, one in enumerate(value) if param.convert([one]) is MISMATCH)
                found = f"found element of type {class_name(value[bad])} at pos {bad}"
                return f"{name}(): argument '{shown}' (position {position}) must be {wanted}, but {found}"
            return f"{name}(): argument '{shown}' (position {position}) must be {wanted}, not {class_name(value)}"
    known = {signature.keywords.get(key) for key in kwargs}
    missing = [
        _called(param, place, method) for place, param in enumerate(signature.params[len(args) :], len(args))
        if param.default is REQUIRED and not (param.variadic and param.type == "any") and place not in known
    ]
    if missing:
        quoted = ", ".join(f'"{one}"' for one in missing)
        plural = "s" if len(missing) == 1 else ""  # the wrong way round, as PyTorch has it
        return f"{name}() missing {len(missing)} required positional argument{plural}: {quoted}"
    for key, value in kwargs.items():
        index = signature.keywords.get(key)
        if index is None:
            return f"{name}() got an unexpected keyword argument '{key}'"
        if index < len(args):
            return f"{name}() got multiple values for argument '{key}'"
        param = signature.params[index]
        if param.refuses(value):
            wanted = _word(param) if param.type != "ints" else "tuple of ints"
            return f"{name}(): argument '{key}' must be {wanted}, not {class_name(value)}"
    return None


def _word(param: Param) -> str:
    return str(param).partition(f" {param.name}")[0]


def _called(param: Param, place: int, method: bool) -> str:
    return "input" if place == 0 and param.name == "self" and not method else param.name


def parameters(signature: Signature, method: bool = False) -> str:
    """Return a signature as PyTorch lists it."""
    shown: list[str] = []
    for place, param in enumerate(signature.params):
        if method and place == 0:
            continue
        if param.keyword_only and (place == 0 or not signature.params[place - 1].keyword_only):
            shown.append("*")
        text = str(param)
        shown.append(text if place or param.name != "self" else text.replace(" self", " input", 1))
    return f"({', '.join(shown)})"


def type_name(value: object) -> str:
    """Return how PyTorch names an argument's type where it says which one does not fit."""
    if not isinstance(value, (list, tuple)):
        return class_name(value)
    inner = ", ".join(map(class_name, value))
    inner = f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    return f"{class_name(value)} of {inner}"
