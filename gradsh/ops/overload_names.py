"""torch.ops.aten: operations by the names that PyTorch's dispatcher has for them, for policies of selective checkpointing.

A record is one overload. Its name there follows from its signature; the tables below hold what does not.
"""


from typing import Any

from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find, lookup
from gradsh.engine.schema.overload import Overload
from gradsh.text.fault import fail

_SPECIAL = "entr erfcx i0e i1 i1e log_ndtr ndtri xlog1py zeta"
_HIDDEN_THERE = "softmax log_softmax linalg_det linalg_slogdet linalg_svd linalg_eigh"
_HIDDEN_HERE = (
    "adaptive_max_pool2d adaptive_max_pool3d avg_pool2d avg_pool3d binary_cross_entropy_with_logits huber_loss mse_loss smooth_l1_loss "
    "linalg_inv_ex linalg_solve_ex"
)
_OTHER_NAMES = {
    **{name: f"special_{name}" for name in _SPECIAL.split()}, **{name: f"_{name}" for name in _HIDDEN_THERE.split()},
    **{f"_{name}": name for name in _HIDDEN_HERE.split()},
    "_mul_scalar": "mul", "_add_scalar": "add", "_div_scalar": "div", "_norm_over": "norm", "argwhere": "nonzero",
    "log_sigmoid": "log_sigmoid_forward", "_convolution": "convolution",
}
"""Names of operations here, and what they are called there."""
_OPERANDS = (
    "add sub mul div rsub copysign fmod remainder fill lerp masked_fill clamp clamp_max clamp_min ldexp eq ne lt le gt ge bitwise_and "
    "bitwise_or bitwise_xor floor_divide"
)
_BY_OPERAND = frozenset(_OPERANDS.split())
"""Operations whose overloads are called by what their last operand is: Tensor or Scalar."""
_ALWAYS_TENSOR = frozenset({"add", "sub", "mul", "div"})
"""Of these, those for which a Python number becomes a tensor first."""
_BY_DIM = {
    **dict.fromkeys(("max", "min", "median", "nanmedian", "mean", "squeeze", "any", "all"), "dim"), "sum": "dim_IntList",
    "prod": "dim_int", "select": "int", "transpose": "int", "unbind": "int", "slice": "Tensor", "split": "Tensor",
    "unsafe_split": "Tensor", **dict.fromkeys(("std", "var", "std_mean", "var_mean"), "correction"),
}
"""Operations with a second overload that takes a dim, or by PyTorch's reckoning something else, and the name of that."""
_FIXED = {"frexp": "Tensor", "where": "self", "isnan": "default", "_mul_scalar": "Scalar", "_add_scalar": "Scalar",
          "_div_scalar": "Scalar", "_norm_over": "ScalarOpt_dim"}
_POWERS = {
    "pow": ("Tensor_Tensor", "Tensor_Scalar", "Scalar"), "xlogy": ("Tensor", "Scalar_Other", "Scalar_Self"),
    "xlog1py": ("default", "other_scalar", "self_scalar"), "zeta": ("default", "other_scalar", "self_scalar"),
}
"""By whether both operands are tensors, the second is a number, or the first is."""


def overload_of(record: Overload, values: list[object]) -> "OpOverload":
    """Return what PyTorch's dispatcher calls an overload of an operation, for arguments given to it."""
    name = record.name.rstrip("_")
    return _kept(OpOverload(_packet(record.name), _overload(name, record, values)))


def _packet(name: str) -> str:
    plain = name.rstrip("_")
    return _OTHER_NAMES.get(plain, plain) + name[len(plain):]


def _overload(name: str, record: Overload, values: list[object]) -> str:
    params = record.signature.params
    if name in _FIXED:
        return _FIXED[name]
    if name in _POWERS:
        both, second, first = _POWERS[name]
        found = second if not isinstance(values[1], Tensor) else first if not isinstance(values[0], Tensor) else both
        return found.removeprefix("Tensor_") if record.kind == "inplace" else found
    if "rounding_mode" in record.signature.index:
        return "Tensor_mode"
    if name in _BY_OPERAND:
        last = next(value for value, param in reversed(list(zip(values, params, strict=True))) if not param.keyword_only)
        return "Tensor" if name in _ALWAYS_TENSOR or isinstance(last, Tensor) else "Scalar"
    if name in _BY_DIM and ({"dim", "dim0", "split_size"} & record.signature.index.keys()):
        return _BY_DIM[name]
    return next((option for option in ("decimals", "stable") if option in record.signature.index), "default")


class OpOverload:
    """One overload of an operation of the dispatcher: `torch.ops.aten.mm.default`. Two of the same name are equal."""

    __module__ = "torch._ops"
    __slots__ = ("_opname", "_overloadname")
    __script_attributes__ = frozenset({"name", "namespace", "overloadpacket"})
    namespace = "aten"

    def __init__(self, name: str, overload: str) -> None:
        self._opname = name
        self._overloadname = overload

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the operation."""
        return find(_here(self._opname))(*args, **kwargs)

    def name(self) -> str:
        """Return the name with the dispatcher's punctuation: `aten::add.Tensor`."""
        return f"aten::{self._opname}" + ("" if self._overloadname == "default" else f".{self._overloadname}")

    @property
    def overloadpacket(self) -> "OpOverloadPacket":
        """All overloads of the operation."""
        return OpOverloadPacket(self._opname)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"aten.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._opname}', overload='{self._overloadname}')>"


_OVERLOADS = frozenset({
    "default", "Tensor", "Scalar", "Tensor_mode", "decimals", "stable", *_BY_DIM.values(), *_FIXED.values(),
    *(one for several in _POWERS.values() for one in several),
})


class OpOverloadPacket:
    """The overloads of an operation of the dispatcher: `torch.ops.aten.mm`."""

    __module__ = "torch._ops"
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @staticmethod
    def __script_attributes__(name: str) -> bool:
        """Offer the names of overloads."""
        return name in _OVERLOADS

    def __getattr__(self, name: str) -> OpOverload:
        if name not in _OVERLOADS:
            message = f"The underlying op of 'aten.{self._name}' has no overload name '{name}'"
            raise fail("attribute", message, AttributeError, owner=self, name=name)
        return _kept(OpOverload(self._name, name))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the operation."""
        return find(_here(self._name))(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self._name}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self._name}')>"


_MADE: dict[OpOverload, OpOverload] = {}


def _kept(overload: OpOverload) -> OpOverload:
    """Return the one object that stands for an overload, so that `is` works, too."""
    return _MADE.setdefault(overload, overload)


def _here(name: str) -> str:
    """Return what an operation of the dispatcher is called here."""
    plain = name.rstrip("_")
    if lookup(plain) is None:
        plain = next((one for one, other in _OTHER_NAMES.items() if other == plain), plain)
    return plain + name[len(name.rstrip("_")):]


class _Operations:
    """torch.ops.aten: the operations that gradsh has."""

    __module__ = "torch._ops"
    __slots__ = ()

    @staticmethod
    def __script_attributes__(name: str) -> bool:
        """Offer every ordinary name."""
        return not name.startswith("__")

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__") or lookup(_here(name)) is None:
            raise fail("attribute", f"'_OpNamespace' 'aten' object has no attribute '{name}'", AttributeError, owner=self, name=name)
        return OpOverloadPacket(name)

    def __repr__(self) -> str:
        return "<module 'torch.ops.aten'>"


aten = _Operations()
