"""Which kind an exception is: the engine says it; for Python's own, the class and PyTorch's known sentences do."""

import re

from gradsh.interpreter.activation import Stopped
from gradsh.text.fault import fault_of

_PATTERNS: tuple[tuple[str, str], ...] = (
    ("freed", r"backward through the graph a second time"),
    ("version", r"modified by an inplace operation"),
    ("scalar", r"grad can be implicitly created only for scalar outputs"),
    (
        "grad_shape",
        (
            r"Mismatch in shape: grad_output|assigned grad has data of a different size|invalid gradient at index"
            r"|hook.* has changed the size of value|attempting to assign a gradient of size|gradient must have the same shape"
        ),
    ),
    ("unused", r"appears to not have been used in the graph"),
    ("no_grad", r"does not require grad|can't retain_grad on Tensor|cannot register a hook on a tensor that doesn't"),
    ("leaf_inplace", r"leaf Variable that requires grad is being used|moved into the graph interior"),
    (
        "view_inplace",
        (
            r"is a view and (is being|its base or another view)|view was created in (no_grad|inference) mode"
            r"|Can't detach views in-place|view is the output of a function that returns multiple views"
        ),
    ),
    ("not_leaf", r"can only change requires_grad flags of leaf|can't optimize a non-leaf|is not a leaf|non-leaf tensor"),
    (
        "dtype",
        (
            r"[Oo]nly Tensors of floating point|expected scalar type|dtype.* mismatch|same dtype|can't be cast to the desired"
            r"|not implemented for '(Long|Int|Bool|Float|Half)'|[Cc]ould not infer (output )?dtype"
        ),
    ),
    ("value", r"Boolean value of Tensor|cannot be converted to Scalar|only one element tensors can be converted"),
    (
        "shape",
        (
            r"must match the (size|existing size)|shapes cannot be multiplied|is invalid for input of size|size mismatch"
            r"|shape mismatch|cannot be broadcast|could not be broadcast|matmul: Input operand"
        ),
    ),
)
_CLASSES: tuple[tuple[type[BaseException], str], ...] = (
    (Stopped, "limit"), (KeyboardInterrupt, "interrupt"), (MemoryError, "limit"), (RecursionError, "limit"),
    (IndexError, "index"), (KeyError, "key"), (NameError, "name"), (AttributeError, "attribute"), (ImportError, "name"),
    (TypeError, "type"), (ValueError, "value"), (AssertionError, "assert"), (ArithmeticError, "arithmetic"),
    (OSError, "io"),
)


def kind_of(error: BaseException) -> str:
    """Return the kind of `kinds.KINDS` that an exception is."""
    fault = fault_of(error)
    if fault is not None:
        return fault.kind
    if isinstance(error, RuntimeError | TypeError | ValueError | IndexError) and type(error).__module__ == "builtins":
        message = str(error)
        for kind, pattern in _PATTERNS:
            if re.search(pattern, message):
                return kind
    for kind_class, kind in _CLASSES:
        if isinstance(error, kind_class):
            return kind
    return "other"
