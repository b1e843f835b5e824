"""Adafactor: a matrix's averages of squared gradients are kept as those of its rows and columns."""

import math

import numpy as np

from gradsh.api.optim.adam import counted, lerp
from gradsh.api.optim.optimizer import Optimizer, ParamGroup, ParamState, counter, number, zeros_like
from gradsh.engine.graph.tensor import Tensor, make, written
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


class Adafactor(Optimizer):
    """Steps relative to the size of the parameters, with factored averages of squared gradients."""

    def __init__(
        self, params: object, lr: float = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0, weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise fail("value", "Tensor lr must be 1-element", ValueError)
        for what, holds, value in (
            ("Learning rate should be >= 0", lr >= 0, lr), ("beta2_decay should be <= 0", beta2_decay <= 0, beta2_decay),
            ("epsilon1 should be >= 0", eps[0] is None or eps[0] >= 0, eps[0]), ("epsilon2 should be >= 0", eps[1] >= 0, eps[1]),
            ("Clipping threshold d should be >= 1", d >= 1, d), ("weight_decay should be >= 0", weight_decay >= 0, weight_decay),
        ):
            if not holds:
                raise fail("value", f"{what} but is: {value}", ValueError)
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        })

    def _averages(self, parameter: Tensor) -> ParamState:
        state = self.state[parameter]
        if not state:
            state["step"] = counter()
            if parameter.array.ndim > 1:
                *others, rows, columns = parameter.array.shape
                state["row_var"], state["col_var"] = (
                    make(np.zeros((*others, *shape), parameter.array.dtype)) for shape in ((rows, 1), (1, columns)))
            else:
                state["variance"] = zeros_like(parameter)
        return state

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state, values = self._averages(parameter), parameter.array
        count, lr = counted(state), number(group["lr"])
        least, smallest = group["eps"]
        least = float(np.finfo(values.dtype).eps) if least is None else least
        size = max(smallest, _root_mean_square(values)) * min(lr, 1 / math.sqrt(count))
        weight = count ** group["beta2_decay"]
        if group["weight_decay"] != 0:
            values *= 1 - lr * group["weight_decay"]
        squares = np.square(grad)
        if grad.ndim > 1:
            rows, columns = state["row_var"], state["col_var"]
            lerp(rows, squares.mean(-1, keepdims=True), weight)
            lerp(columns, squares.mean(-2, keepdims=True), weight)
            average = rows.array @ columns.array / np.maximum(rows.array.mean(-2, keepdims=True), least)
        else:
            lerp(state["variance"], squares, weight)
            average = state["variance"].array
        step = grad / np.sqrt(np.maximum(average, least * least))
        values -= step * (size / max(1.0, _root_mean_square(step) / group["d"]))
        written(parameter, 1 + (group["weight_decay"] != 0))


def _root_mean_square(values: Array) -> float:
    return math.sqrt(float(np.square(values).mean())) if values.size else 0.0
