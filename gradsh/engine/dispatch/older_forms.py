"""Calls as PyTorch took them before 2020, with the factors among the tensors: `p.add_(-lr, grad)`, `torch.addmm(beta, c, alpha, a, b)`.

PyTorch still takes them, and warns of the first one.
"""

from collections.abc import Mapping, Sequence

from gradsh.engine.ambient import current
from gradsh.engine.graph.tensor import Tensor

_PRODUCTS = {
    "addmm": ("mat1", "mat2"), "addmv": ("mat", "vec"), "addr": ("vec1", "vec2"), "baddbmm": ("batch1", "batch2"),
    "addbmm": ("batch1", "batch2"),
}
_TENSORS = {"add": ("other",), "sub": ("other",), "addcmul": ("tensor1", "tensor2"), "addcdiv": ("tensor1", "tensor2"), **_PRODUCTS}
"""Operation -> the tensors that its call ends with."""


def newer_form(
    name: str, args: Sequence[object], kwargs: Mapping[str, object], method: bool
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    """Return the arguments as PyTorch takes them now, and warn; None for a call that is none of the older ones."""
    plain = name.removesuffix("_")
    last = _TENSORS.get(plain)
    if last is None:
        return None
    words = ("beta", "alpha") if plain in _PRODUCTS else ("value",) if len(last) == 2 else ("alpha",)
    orders: list[Sequence[str]] = [["input", *words, *last]]
    if plain in _PRODUCTS:
        orders.append(["input", "beta", *last])
        if not method:
            orders = [["beta", "input", "alpha", *last], ["beta", "input", *last]]
    for order in orders:
        named = order[len(args) :]
        if set(named) != set(kwargs):
            continue
        given = [*args, *(kwargs[word] for word in named)]
        if len(order) == len(given) and all(map(_fits, order, given)):
            shown = [word for word in order if not (method and word == "input")]
            _warn(name, shown, last if method else ["input", *last], words)
            tensors = tuple(value for word, value in zip(order, given, strict=True) if word not in words)
            return tensors, {word: value for word, value in zip(order, given, strict=True) if word in words}
    return None


def _fits(word: str, value: object) -> bool:
    return isinstance(value, (int, float) if word in {"alpha", "beta", "value"} else Tensor)


def _warn(name: str, order: Sequence[str], now: Sequence[str], words: Sequence[str]) -> None:
    """Say once how the call is written now, as PyTorch does."""
    ambient = current()
    if "older form" not in ambient.standing_in:
        ambient.standing_in.add("older form")
        before = ", ".join(f"Number {word}" if word in words else f"Tensor {word}" for word in order)
        after = ", ".join([*(f"Tensor {word}" for word in now), "*", *(f"Number {word} = 1" for word in words)])
        ambient.warning(
            f"This overload of {name} is deprecated:\n\t{name}({before})\n"
            f"Consider using one of the following signatures instead:\n\t{name}({after})"
        )
