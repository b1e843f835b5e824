"""Windows of signals: one number for each of `window_length` places, as leaves."""

import math
from collections.abc import Callable
from typing import Any

from gradsh.engine.dispatch.declare import composite
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.values.device import check_factory_device
from gradsh.engine.values.dtype import CPP_NAMES, DType, of_numpy
from gradsh.ops.create import OPTIONS, TORCH, default_or
from gradsh.text.fault import fail


def _window(name: str, doc: str, values: Callable[..., Tensor], *more: str) -> None:
    """Declare a window, with the parameters that may follow `periodic`: a signature for each number of arguments.

    `values` gets the ramp 0, 1, …, the last of its places, and the parameters. A periodic window is one of a place more,
    without that place.
    """

    def body(window_length: int, *given: Any) -> Tensor:
        *chosen, dtype, _layout, device, _pin_memory, requires_grad = given
        periodic, *parameters = chosen or [True]
        check_factory_device(device)
        kind = of_numpy(default_or(dtype))
        _check(name, window_length, kind)
        if window_length < 2:
            return find("ones")(window_length, dtype=kind, requires_grad=requires_grad)
        last = window_length - 1 + periodic
        found = values(find("arange")(last + 1, dtype=kind), last, *parameters)
        return (found[:-1] if periodic else found).requires_grad_(requires_grad)

    text = f"{name}(window_length: int"
    for parameter in ("", "periodic: bool", *more):
        text += f", {parameter}" if parameter else ""
        composite(f"{text}, *, {OPTIONS})", doc, body, TORCH)


def _check(name: str, window_length: int, kind: DType) -> None:
    if not kind.is_floating_point:
        options = f"dtype={CPP_NAMES[kind.name]}, device=cpu, layout=Strided (default), requires_grad=false (default)"
        message = f"{name} expects floating point dtypes, got: TensorOptions({options}, pinned_memory=false, memory_format=(nullopt))"
        raise fail("dtype", message)
    if window_length < 0:
        raise fail("value", f"{name} requires non-negative window_length, got window_length={window_length}")


def _cosine(ramp: Tensor, last: int, alpha: float = 0.54, beta: float = 0.46) -> Tensor:
    return ramp.mul_(2 * math.pi / last).cos_().mul_(-beta).add_(alpha)


def _blackman(ramp: Tensor, last: int) -> Tensor:
    ramp.mul_(2 * math.pi / last)
    return ramp.mul(2).cos_().mul_(0.08) - ramp.cos_().mul_(0.5) + 0.42


def _bartlett(ramp: Tensor, last: int) -> Tensor:
    ramp.mul_(2 / last)[last // 2 + 1 :].mul_(-1).add_(2)
    return ramp


def _kaiser(ramp: Tensor, last: int, beta: float = 12.0) -> Tensor:
    place = ramp * (2 / last) - 1
    inner = (1 - place * place).clamp_(min=0).sqrt_()
    whole = find("full")((), beta, dtype=ramp.dtype)
    return find("i0")(inner * beta) / find("i0")(whole)


_window("hann_window", "A Hann window: (1 - cos) / 2 over one period.", lambda ramp, last: _cosine(ramp, last, 0.5, 0.5))
_window("hamming_window", "A Hamming window: alpha - beta cos over one period.", _cosine, "alpha: float", "beta: float")
_window("blackman_window", "A Blackman window: 0.42 - 0.5 cos + 0.08 cos of twice the angle.", _blackman)
_window("bartlett_window", "A triangle from 0 to 1 and back.", _bartlett)
_window("kaiser_window", "A Kaiser window: the Bessel function I0 over a half circle, of width `beta`.", _kaiser, "beta: float")
