"""The special names that a script's class may define, and what to do instead of defining another one."""

_OPERATORS = (
    "add sub mul matmul truediv floordiv mod pow and or xor lshift rshift radd rsub rmul rmatmul rtruediv rfloordiv rmod "
    "rpow rand ror rxor rlshift rrshift iadd isub imul imatmul itruediv ifloordiv imod ipow iand ior ixor ilshift "
    "irshift neg pos abs invert lt le gt ge eq ne"
)
_OTHERS = (
    "init call len getitem setitem delitem iter next contains bool repr str format hash enter exit float int index round "
    "reversed doc post_init missing"
)
SPECIAL_METHODS = frozenset(f"__{name}__" for name in (*_OPERATORS.split(), *_OTHERS.split()))
"""Special names that may be defined in the body of a class."""

CALLABLE_SPECIALS = SPECIAL_METHODS - {"__doc__", "__hash__", "__format__"}
"""Special methods that may also be called by name, as in `super().__init__()`."""

LOOKUPS = frozenset({"__getattr__", "__setattr__", "__delattr__"})
"""Methods that Python calls for attributes: a class may define them, and reach its bases' by `super()`, under guard."""

CLASS_ONLY = LOOKUPS | {
    "__class_getitem__", "__del__", "__delete__", "__get__", "__init_subclass__", "__new__", "__set__", "__set_name__",
    "__setstate__", "__slots__",
}
"""Special names that may stand in the body of a class and be set nowhere else."""

WITHOUT_MEANING = frozenset({"__constants__", "__version__", "__author__", "__jit_unused_properties__", "__match_args__"})
"""Names of this form that a class may define although neither Python nor gradsh reads them."""

OR_TRACE = "or run the program on PyTorch: `gradsh trace FILE`"
"""The way out for what the language leaves out."""

_WAYS = {"__getattribute__": "write `__getattr__`, a method or a @property"}


def ways_for(name: str) -> str:
    """Return the sentence that names the way to do without a special name."""
    return f"{_WAYS.get(name, 'give the method an ordinary name and call it by that')}, {OR_TRACE}"
