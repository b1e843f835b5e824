"""RMSprop, Adagrad, Adadelta, Rprop, ASGD: rates from the gradients' history."""

import math
from typing import Any

import numpy as np

from gradsh.api.optim.adam import counted, decayed_square, divided, lerp
from gradsh.api.optim.optimizer import (
    Optimizer,
    ParamGroup,
    ParamState,
    check,
    check_signs,
    counter,
    decayed,
    number,
    rate,
    with_decay,
    zeros_like,
)
from gradsh.engine.graph.tensor import Tensor, make, written
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels import fused


class RMSprop(Optimizer):
    """Steps divided by the root of an average of squared gradients."""

    def __init__(
        self, params: object, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:
        check_signs(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        })

    def _held(self, parameter: Tensor, group: ParamGroup) -> ParamState:
        more = [name for name, used in (("momentum_buffer", group["momentum"] > 0), ("grad_avg", group["centered"])) if used]
        return self._state(parameter, "square_avg", *more)

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        state: Any = self._held(parameter, group)
        counted(state)
        grad = with_decay(parameter, grad, group)
        alpha, lr = group["alpha"], rate(group["lr"])
        square = state["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = square.sqrt()
        root = root.add(group["eps"])
        if group["momentum"] > 0:
            parameter.add_(state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root), alpha=-lr)
        else:
            parameter.addcdiv_(grad, root, value=-lr)

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self._held(parameter, group)
        counted(state)
        grad = decayed(parameter, grad, group)
        alpha = group["alpha"]
        decayed_square(state["square_avg"], grad, alpha)
        square = state["square_avg"].array
        if group["centered"]:
            mean = state["grad_avg"]
            lerp(mean, grad, 1 - alpha)
            square = fused.addcmul(square, mean.array, mean.array, -1)
        below = np.sqrt(square)
        below += group["eps"]
        lr = number(group["lr"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.array *= group["momentum"]
            buffer.array += grad / below
            written(buffer, 2)
            fused.accumulate(parameter.array, buffer.array, -lr)
            written(parameter)
        else:
            divided(parameter, below, grad, -lr)


class Adagrad(Optimizer):
    """Steps divided by the root of the sum of squared gradients."""

    def __init__(
        self, params: object, lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *, maximize: bool = False,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:
        check_signs(
            lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps,
        )
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        })
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                state["step"] = counter(0)
                state["sum"] = make(np.full_like(parameter.array, initial_accumulator_value))

    def share_memory(self) -> None:
        """Do nothing."""

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self.state[parameter]
        step = counted(state)
        grad = decayed(parameter, grad, group)
        total = state["sum"]
        fused.accumulate(total.array, grad, grad)
        written(total)
        size = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        divided(parameter, np.sqrt(total.array) + group["eps"], grad, -size)

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        state: Any = self.state[parameter]
        step = counted(state)
        grad = with_decay(parameter, grad, group)
        total = state["sum"].addcmul_(grad, grad, value=1)
        size = rate(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        parameter.addcdiv_(grad, total.sqrt() + group["eps"], value=-size)


class Adadelta(Optimizer):
    """Steps in units of an average of former steps."""

    def __init__(
        self, params: object, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:
        check("learning rate", lr, lr >= 0)
        check("rho value", rho, 0 <= rho <= 1)
        check_signs(eps=eps, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable,
            "foreach": foreach, "differentiable": differentiable,
        })

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self._state(parameter, "square_avg", "acc_delta")
        counted(state)
        grad = decayed(parameter, grad, group)
        decayed_square(state["square_avg"], grad, group["rho"])
        root = np.sqrt(state["square_avg"].array + group["eps"])
        step = np.sqrt(state["acc_delta"].array + group["eps"]) / root * grad
        decayed_square(state["acc_delta"], step, group["rho"])
        fused.accumulate(parameter.array, step, -number(group["lr"]))
        written(parameter)

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        state: Any = self._state(parameter, "square_avg", "acc_delta")
        counted(state)
        grad = with_decay(parameter, grad, group)
        rho, eps = group["rho"], group["eps"]
        square = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root = square.add(eps).sqrt_()
        step = state["acc_delta"].add(eps).sqrt_().clone().div_(root).mul_(grad)
        state["acc_delta"].mul_(rho).addcmul_(step, step, value=1 - rho)
        parameter.add_(step, alpha=-rate(group["lr"]))


class Rprop(Optimizer):
    """Steps of a size of their own for each element, by the sign of the gradient."""

    def __init__(
        self, params: object, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:
        check("learning rate", lr, lr >= 0)
        check("eta values", f"{etas[0]}, {etas[1]}", 0.0 < etas[0] < 1.0 < etas[1])
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })

    def _held(self, parameter: Tensor, group: ParamGroup) -> ParamState:
        state = self.state[parameter]
        if not state:
            state["step"] = counter(0)
            state["prev"] = zeros_like(parameter)
            state["step_size"] = make(np.full_like(parameter.array, number(group["lr"])))
        return state

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        state: Any = self._held(parameter, group)
        counted(state)
        smaller, larger = group["etas"]
        sign = grad.mul(state["prev"].clone()).sign()
        sign[sign.gt(0)] = larger
        sign[sign.lt(0)] = smaller
        sign[sign.eq(0)] = 1
        size = state["step_size"].mul_(sign).clamp_(*group["step_sizes"])
        grad = grad.clone()
        grad[sign.eq(smaller)] = 0
        parameter.addcmul_(grad.sign(), size, value=-1)
        state["prev"].copy_(grad)

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self._held(parameter, group)
        counted(state)
        smaller, larger = group["etas"]
        least, most = group["step_sizes"]
        agreement = np.sign(grad * state["prev"].array)
        factor = np.where(agreement > 0, larger, np.where(agreement < 0, smaller, 1)).astype(grad.dtype)
        size = state["step_size"]
        np.clip(size.array * factor, least, most, out=size.array)
        written(size, 2)
        grad = np.where(agreement < 0, grad.dtype.type(0), grad)
        parameter.array -= np.sign(grad) * size.array
        written(parameter)
        state["prev"].array[...] = grad
        written(state["prev"])


class ASGD(Optimizer):
    """Gradient descent that also averages the parameters (state `ax`)."""

    def __init__(
        self, params: object, lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_signs(lr=lr, weight_decay=weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        lr = number(group["lr"])
        state: Any = self._state(parameter, "ax", eta=lr, mu=1)
        step = counted(state)
        grad = with_decay(parameter, grad, group)
        eta, mu, average = state["eta"].item(), state["mu"], state["ax"]
        parameter.mul_(1 - group["lambd"] * eta).add_(grad, alpha=-eta)
        if mu.item() == 1:
            average.copy_(parameter)
        else:
            average.add_(parameter.sub(average).mul_(mu))
        self._advance(state, lr, step, group)

    def _advance(self, state: ParamState, lr: float, step: float, group: ParamGroup) -> None:
        """Note the rates of the next step."""
        state["eta"].array[...] = lr / math.pow(1 + group["lambd"] * lr * step, group["alpha"])
        state["mu"].array[...] = 1 / max(1, step - group["t0"])
        written(state["eta"])
        written(state["mu"])

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        lr = number(group["lr"])
        state = self._state(parameter, "ax", eta=lr, mu=1)
        step = counted(state)
        grad = decayed(parameter, grad, group)
        eta, mu, average = float(state["eta"].array), float(state["mu"].array), state["ax"]
        parameter.array *= 1 - group["lambd"] * eta
        fused.accumulate(parameter.array, grad, -eta)
        written(parameter, 2)
        if mu == 1:
            average.array[...] = parameter.array
        else:
            average.array += (parameter.array - average.array) * mu
        written(average)
        self._advance(state, lr, step, group)
