"""Which kind an exception is. PyTorch's known sentences decide, then what gradsh alone tells apart, then the class.

The sentences come first, so that a message has one kind whoever raised it: the engine, a script, or Python.
"""

import re

from gradsh.runtime.activation import Stopped
from gradsh.text.fault import fault_of

LONGEST = 100_000
"""Characters of a message that are looked at, and shown."""
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("limit", r"^array is too big|^Exceeds the limit \(\d+ digits\)|^maximum supported dimension for an ndarray"),
    ("freed", r"backward through the graph a second time"),
    ("version", r"modified by an inplace operation"),
    ("scalar", r"grad can be implicitly created only for scalar outputs"),
    (
        "grad_shape",
        (
            r"Mismatch in shape: grad_output|assigned grad has data of a different size|invalid gradient at index"
            r"|hook.* has changed the size of value|attempting to assign a gradient of size|gradient must have the same shape"
            r"|should have.*same shape as"
        ),
    ),
    ("unused", r"appears to not have been used in the graph"),
    (
        "no_grad",
        (
            r"does not require grad|can't retain_grad on Tensor that has requires_grad=False"
            r"|cannot register a hook on a tensor that doesn't require gradient"
        ),
    ),
    (
        "leaf_inplace",
        (
            r"leaf Variable that requires grad is being used in an in-place operation"
            r"|leaf variable has been moved into the graph interior"
        ),
    ),
    (
        "view_inplace",
        (
            r"is a view and (is being|its base or another view)|view was created in (no_grad|inference) mode"
            r"|Can't detach views in-place|view is the output of a function that returns multiple views"
        ),
    ),
    (
        "not_leaf",
        (
            r"can only change requires_grad flags of leaf|can't optimize a non-leaf|is not a leaf|non-leaf tensor"
            r"|graph leaves\) support the deepcopy"
        ),
    ),
    (
        "dtype",
        (
            r"[Oo]nly Tensors of floating point|expected scalar type|expected .* dtype|dtype.* mismatch|same dtype"
            r"|can't be cast to the desired output type|not implemented for '(Long|Int|Bool|Float|Half)'"
            r"|[Cc]ould not infer (output )?dtype|must be .*(Long|Int|Float|long|int64)|to be Long"
            r"|floating point (or complex )?dtype|attempting to assign a gradient with dtype|^gradsh computes in"
        ),
    ),
    (
        "value",
        (
            r"Boolean value of Tensor|cannot be converted to Scalar|only one element tensors can be converted"
            r"|only integer tensors of a single element|got an empty parameter list|cannot be empty"
        ),
    ),
    (
        "shape",
        (
            r"must match the (size|existing size)|shapes cannot be multiplied|doesn't match the broadcast shape"
            r"|is invalid for input of size|size mismatch|Sizes of tensors must match|stack expects each tensor"
            r"|inconsistent tensor size|batch_size .* to match target batch_size|shape mismatch|cannot be broadcast"
            r"|not compatible with input tensor's size|to have the same size|mat1 and mat2|vector \+ matrix"
            r"|Expected .*input.* to have .* channels|has no batch dimension|expanded size of the tensor"
            r"|could not be broadcast|matmul: Input operand"
        ),
    ),
)
_OWN = frozenset({"limit", "interrupt", "expect", "io", "syntax", "name", "key", "attribute", "arithmetic", "assert"})
"""Kinds that no sentence of PyTorch's tells: what was raised says so itself."""
_CLASSES: tuple[tuple[type[BaseException], str], ...] = (
    (Stopped, "limit"), (MemoryError, "limit"), (SystemError, "limit"), (RecursionError, "limit"),
    (IndexError, "index"), (KeyError, "key"), (NameError, "name"), (AttributeError, "attribute"), (ImportError, "name"),
    (TypeError, "type"), (ValueError, "value"), (AssertionError, "assert"), (ArithmeticError, "arithmetic"),
    (OSError, "io"),
)


def words_of(error: BaseException) -> str:
    """Return an exception's text; nothing where a script's own class, or what it holds, lets none be made."""
    try:
        return str(error)
    except BaseException:  # noqa: BLE001  # also the limit that ends an endless `__str__`
        return ""


def kind_of(error: BaseException) -> str:
    """Return the kind of `kinds.KINDS` that an exception is."""
    if isinstance(error, RuntimeError | TypeError | ValueError | IndexError):
        message = words_of(error)[:LONGEST]
        for kind, pattern in _PATTERNS:
            if re.search(pattern, message):
                return kind
    fault = fault_of(error)
    if fault is not None and fault.kind in _OWN:
        return fault.kind
    return kind_of_class(error)


def kind_of_class(error: BaseException) -> str:
    """Return the kind that an exception's class alone tells, without a look at what a script may have put into it."""
    if type(error) is KeyboardInterrupt and fault_of(error) is not None:
        return "interrupt"
    for kind_class, kind in _CLASSES:
        if isinstance(error, kind_class):
            return kind
    return "other"
