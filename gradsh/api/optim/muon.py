"""Muon: momentum whose matrix is brought near an orthogonal one, in the 8 significant bits of bfloat16."""

import math

import numpy as np

from gradsh.api.optim.adam import lerp
from gradsh.api.optim.optimizer import Optimizer, ParamGroup, number, zeros_like
from gradsh.engine.graph.tensor import Tensor, written
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import rounded_to_bfloat16
from gradsh.text.fault import fail

_MOST_STEPS = 100
_WAYS = ("original", "match_rms_adamw")


def _orthogonal(matrix: Array, coefficients: tuple[float, float, float], steps: int, eps: float) -> Array:
    """Return the matrix with its singular values near 1, by Newton and Schulz's iteration (of the fifth degree)."""
    if steps >= _MOST_STEPS:
        raise fail("value", "Number of steps must be less than 100 for computational efficiency", ValueError)
    if matrix.ndim != 2:
        raise fail("shape", "Input tensor gradient must be a 2D matrix", ValueError)
    if len(coefficients) != 3:
        raise fail("value", "Coefficients must be a tuple of exactly 3 values", ValueError)
    a, b, c = (np.float32(one) for one in coefficients)
    tall = matrix.shape[0] > matrix.shape[1]
    now = rounded_to_bfloat16(matrix.T if tall else matrix)
    length = np.maximum(rounded_to_bfloat16(np.sqrt(np.square(now).sum())), rounded_to_bfloat16(np.asarray(eps, np.float32)))
    now = rounded_to_bfloat16(now / length)
    for _ in range(steps):
        gram = rounded_to_bfloat16(now @ now.T)
        update = rounded_to_bfloat16(b * gram + c * (gram @ gram))
        now = rounded_to_bfloat16(a * now + update @ now)
    return now.T if tall else now


class Muon(Optimizer):
    """Steps along the nearest orthogonal matrix of the momentum; for the 2-d parameters of hidden layers."""

    def __init__(
        self, params: object, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise fail("value", "Tensor lr must be 1-element", ValueError)
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if value < 0:
                raise fail("value", f"{name} should be >= 0 but is: {value}", ValueError)
        if adjust_lr_fn is not None and adjust_lr_fn not in _WAYS:
            raise fail("value", f"Adjust learning rate function {adjust_lr_fn} is not supported", ValueError)
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients,
            "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        })
        for group in self.param_groups:
            for one in group["params"]:
                if one.ndim != 2:
                    message = f"Muon only supports 2D parameters whereas we found a parameter with size: {one.shape}"
                    raise fail("shape", message, ValueError, tensor=one)

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_like(parameter)
        held, momentum, lr = state["momentum_buffer"], group["momentum"], number(group["lr"])
        lerp(held, grad, 1 - momentum)
        aim = grad + (held.array - grad) * momentum if group["nesterov"] else held.array
        step = _orthogonal(aim, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = parameter.array.shape
        match group["adjust_lr_fn"]:
            case "match_rms_adamw":
                rate = lr * 0.2 * math.sqrt(max(rows, columns))
            case _:
                rate = lr * math.sqrt(max(1, rows / columns))
        parameter.array *= 1 - lr * group["weight_decay"]
        parameter.array -= (step * np.float32(rate)).astype(parameter.array.dtype)
        written(parameter, 2)
