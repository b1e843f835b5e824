"""The callable that users get of an operation: its overloads, tried in order, and its fast paths."""

from collections.abc import Callable
from sys import _getframe
from typing import Any, ClassVar

from numpy import generic, ndarray

from gradsh.engine.schema.overload import FALLBACK, SPECIALIZE_AFTER, Overload
from gradsh.engine.schema.signature import ArrayAmongTensors
from gradsh.engine.values.layout import laid


def _called_by_program(depth: int) -> bool:
    """Whether the frame is of a program, not of a derivative or kernel of this package: only these work on plain arrays."""
    name = _getframe(depth).f_globals.get("__name__")  # the functions that are written at run time have none
    return name is not None and not name.startswith(("gradsh.engine.", "gradsh.ops."))


def _among(args: tuple[Any, ...]) -> bool:
    """Whether numpy's arrays or numbers stand where no Tensor comes first: in a list, or after a number."""
    first = args[0]
    if type(first) in (list, tuple):
        return bool(first) and type(first[0]) is ndarray
    return isinstance(first, (int, float, generic)) and any(isinstance(one, (ndarray, generic)) for one in args)


class Operation:
    """An operation as users call it: the overloads of one name. Also works on plain arrays, within derivatives."""

    __slots__ = ("__dict__", "calls", "fast_elementwise", "fast_general", "inplace_name", "name", "records", "spaces")
    __script_attributes__ = frozenset({"__name__", "__doc__"})

    run: ClassVar[Callable[..., Any]]
    """Runs an overload on bound values. `declare.py` hands this and the following in, which know operations themselves."""
    specialize: ClassVar[Callable[..., Callable[[tuple[object, ...], dict[str, object]], object]]]
    """Returns the fast path of an operation."""
    write_out: ClassVar[Callable[..., object]]
    """Runs a call with `out=`."""
    mismatch: ClassVar[Callable[..., Exception]]
    """Returns the error for a call that fits no overload."""
    newer_form: ClassVar[Callable[..., Any]]
    """Returns the arguments of a call in an older form of PyTorch's as they are written now, or None."""

    def __init__(self, name: str, spaces: tuple[str, ...]) -> None:
        self.name = name
        self.records: list[Overload] = []
        self.spaces = spaces
        self.fast_elementwise: Callable[..., object] | None = None
        """The fast path of an elementwise operation (`codegen/forward_elementwise.py`); returns FALLBACK where the case is not plain."""
        self.fast_general: Callable[[tuple[object, ...], dict[str, object]], object] | None = None
        """The fast path of any other operation (`codegen/forward_general.py`), made after `SPECIALIZE_AFTER` calls."""
        self.calls = 0
        self.__name__ = name

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        """Run the first overload that fits; raises TypeError with the candidates where none does."""
        if args and type(args[0]) is ndarray:
            if _called_by_program(2):
                self._check_no_array(args, kwargs)
            if not kwargs and len(self.records) == 1:
                record = self.records[0]
                bare = record.bare(args)
                if bare is not None:
                    found = record.forward(*bare)
                    return found if record.is_elementwise or not record.layout else laid(record.layout, found, list(bare))
        else:
            found = self.try_fast_path(args, kwargs)
            if found is not FALLBACK:
                return found
        return self.run_general(args, kwargs)

    def run_general(self, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool = False) -> object:
        """Run the first overload that fits, without a fast path; the `args` of a method begin with the tensor."""
        if args and not method and _among(args) and _called_by_program(3):
            self._check_no_array(args, kwargs)
            args = tuple(one.item() if isinstance(one, generic) and self._takes_operand(place) else one for place, one in enumerate(args))
        for record in self.records:
            values = record.signature.bind(args, kwargs)
            if values is not None:
                try:
                    return self.run(record, values)
                except ArrayAmongTensors:
                    raise self.mismatch(args, kwargs, method) from None
        if "out" in kwargs and not method:
            return self.write_out(args, kwargs)
        newer = self.newer_form(self.name, args, kwargs, method)
        if newer is not None:
            return self.run_general(newer[0], newer[1], method)
        raise self.mismatch(args, kwargs, method)

    def _check_no_array(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Refuse numpy's arrays, and its numbers where a Tensor is wanted: no overload takes them."""
        if all(
            any(
                param.refuses(one) if isinstance(one, ndarray) else param.refuses_arrays(one)
                for param, one in zip(record.signature.params, args, strict=False)
            )
            for record in self.records
        ):
            raise self.mismatch(args, kwargs, False)

    def _takes_operand(self, place: int) -> bool:
        params = (record.signature.params[place : place + 1] for record in self.records)
        return any(param.type in ("Operand", "number") for several in params for param in several)

    def try_fast_path(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Take the fast path if there is one for this call; return FALLBACK if not."""
        if self.fast_general is not None:
            return self.fast_general(args, kwargs)
        if self.fast_elementwise is not None:
            return FALLBACK if kwargs else self.fast_elementwise(*args)
        self.calls += 1
        if self.calls <= SPECIALIZE_AFTER:
            return FALLBACK
        self.fast_general = self.specialize()
        return self.fast_general(args, kwargs)

    def __get__(self, instance: object, owner: object = None) -> Any:
        if instance is None:
            return self
        return BoundOperation(self, instance)

    def __copy__(self) -> "Operation":
        return self

    def __deepcopy__(self, memo: object) -> "Operation":
        return self  # a copied module shares the functions it calls, as it does in Python

    def __repr__(self) -> str:
        if self.name.startswith("F_"):
            return f"<function {self.name[2:]} at {id(self.records):#x}>"
        return f"<built-in method {self.name} of type object at {id(self.records):#x}>"


class BoundOperation:
    """A tensor's method, waiting for its call."""

    __slots__ = ("instance", "operation")
    __script_attributes__ = frozenset({"__name__", "__doc__"})

    def __init__(self, operation: Operation, instance: object) -> None:
        self.operation = operation
        self.instance = instance

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        """Call the operation with the tensor first."""
        operation = self.operation
        args = (self.instance, *args)
        found = operation.try_fast_path(args, kwargs)
        return operation.run_general(args, kwargs, method=True) if found is FALLBACK else found

    def __repr__(self) -> str:
        return f"<built-in method {self.operation.name} of Tensor object at {id(self.instance):#x}>"


def _as_builtin(kind: type) -> None:
    """Let the class go by Python's name for functions written in C, in errors, too: PyTorch's are such."""
    kind.__name__ = kind.__qualname__ = "builtin_function_or_method"
    kind.__module__ = "builtins"


_as_builtin(Operation)
_as_builtin(BoundOperation)
