"""Adam and its kin: AdamW, Adamax, NAdam, RAdam."""

from typing import Any

import numpy as np

from gradsh.api.optim.optimizer import (
    Optimizer,
    ParamGroup,
    ParamState,
    check,
    check_signs,
    decayed,
    number,
    rate,
    with_decay,
)
from gradsh.engine.graph.tensor import Tensor, written
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels import fused
from gradsh.text.fault import fail

Betas = tuple[float, float]


def check_adam(lr: object, betas: Betas, eps: float, weight_decay: float) -> None:
    """Refuse settings out of range."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise fail("value", "Tensor lr must be 1-element", ValueError)
    check_signs(lr=lr, eps=eps)
    check("beta parameter at index 0", betas[0], 0 <= betas[0] < 1)
    check("beta parameter at index 1", betas[1], 0 <= betas[1] < 1)
    check_signs(weight_decay=weight_decay)


def counted(state: ParamState) -> float:
    """Count a step in the state and return its number."""
    step = state["step"]
    step.array += 1
    written(step)
    return float(step.array)


def lerp(average: Tensor, value: Array, weight: float) -> None:
    """Move an average towards a value."""
    if weight < 0.5:
        fused.accumulate(average.array, value - average.array, weight)
    else:
        average.array[...] = fused.lerp(average.array, value, weight)
    written(average)


def decayed_square(average: Tensor, value: Array, beta: float) -> None:
    """Move an average of squares towards that of a value."""
    average.array *= beta
    fused.accumulate(average.array, value * (1 - beta), value)
    written(average, 2)


def divided(parameter: Tensor, by: Array, value: Array, size: float) -> None:
    """Add size * value / by to a parameter, from left to right: `addcdiv_`."""
    step = value * size
    step /= by
    parameter.array += step
    written(parameter)


def _decayed(parameter: Tensor, grad: Array, lr: float, group: ParamGroup) -> Array:
    """Return the gradient with the weight decay added; decoupled decay shrinks the parameter in place instead."""
    if group["weight_decay"] != 0 and group["decoupled_weight_decay"]:
        parameter.array *= 1 - lr * group["weight_decay"]
        written(parameter)
        return grad
    return decayed(parameter, grad, group)


def _with_decay(parameter: Tensor, grad: Tensor, lr: object, group: ParamGroup) -> Tensor:
    """Do what `_decayed` does, by recorded operations."""
    if group["weight_decay"] != 0 and group["decoupled_weight_decay"]:
        parameter.mul_(1 - lr * group["weight_decay"])
        return grad
    return with_decay(parameter, grad, group)


def averaged(state: ParamState, grad: Tensor, beta1: Any, beta2: Any) -> tuple[Any, Any]:
    """Move the averages of gradients and of their squares, by recorded operations."""
    mean: Any = state["exp_avg"].lerp_(grad, 1 - beta1)
    square: Any = state["exp_avg_sq"]
    if isinstance(beta2, Tensor) and beta2.requires_grad:
        return mean, square.lerp_(grad.square(), weight=1 - beta2)
    return mean, square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)


class Adam(Optimizer):
    """Steps scaled by averages of gradients and of their squares."""

    def __init__(
        self, params: object, lr: float = 1e-3, betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        })

    def _held(self, parameter: Tensor, group: ParamGroup) -> ParamState:
        return self._state(parameter, "exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else []))

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        state, lr = self._held(parameter, group), rate(group["lr"])
        beta1, beta2 = map(rate, group["betas"])
        step: Any = state["step"].add_(1)
        grad = _with_decay(parameter, grad, lr, group)
        mean, square = averaged(state, grad, beta1, beta2)
        rest1, rest2 = (
            1 - beta ** (step.clone() if isinstance(beta, Tensor) and beta.requires_grad else step) for beta in (beta1, beta2)
        )
        size = (lr / rest1).neg()
        root = rest2.sqrt()
        if group["amsgrad"]:
            largest: Any = state["max_exp_avg_sq"]
            square = largest.copy_(largest.clone().maximum(square))
        if not group["differentiable"]:
            parameter.addcdiv_(mean, (square.sqrt() / root.item()).add_(group["eps"]), value=size.item())
            return
        below = (square.sqrt() / (root * size)).add_(group["eps"] / size)
        parameter.addcdiv_(mean.clone(), below)

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self._held(parameter, group)
        step = counted(state)
        lr = number(group["lr"])
        beta1, beta2 = group["betas"]
        grad = _decayed(parameter, grad, lr, group)
        lerp(state["exp_avg"], grad, 1 - beta1)
        decayed_square(state["exp_avg_sq"], grad, beta2)
        root = (1 - beta2**step) ** 0.5
        square = state["exp_avg_sq"].array
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            np.maximum(largest.array, square, out=largest.array)
            written(largest)
            square = largest.array
        below = np.sqrt(square)
        below /= root
        below += group["eps"]
        divided(parameter, below, state["exp_avg"].array, -lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam with weight decay apart from the gradient."""

    def __init__(
        self, params: object, lr: float = 1e-3, betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
        amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the average of squares."""

    def __init__(
        self, params: object, lr: float = 2e-3, betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        state: Any = self._state(parameter, "exp_avg", "exp_inf")
        step = counted(state)
        beta1, beta2 = group["betas"]
        grad = with_decay(parameter, grad, group)
        state["exp_avg"].lerp_(grad, 1 - beta1)
        largest = state["exp_inf"]
        both = find("cat")([largest.mul_(beta2).unsqueeze(0), grad.abs().add_(group["eps"]).unsqueeze_(0)], 0)
        largest.copy_(both.amax(0, keepdim=False))
        parameter.addcdiv_(state["exp_avg"], largest, value=-(rate(group["lr"]) / (1 - beta1**step)))

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self._state(parameter, "exp_avg", "exp_inf")
        step = counted(state)
        beta1, beta2 = group["betas"]
        grad = decayed(parameter, grad, group)
        lerp(state["exp_avg"], grad, 1 - beta1)
        largest = state["exp_inf"]
        np.maximum(largest.array * beta2, np.abs(grad) + group["eps"], out=largest.array)
        written(largest, 2)
        size = number(group["lr"]) / (1 - beta1**step)
        divided(parameter, largest.array, state["exp_avg"].array, -size)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum."""

    def __init__(
        self, params: object, lr: float = 2e-3, betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        check("momentum_decay value", momentum_decay, momentum_decay >= 0)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        })

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        state: Any = self._state(parameter, "exp_avg", "exp_avg_sq", mu_product=1)
        step, lr = counted(state), rate(group["lr"])
        beta1, beta2 = group["betas"]
        grad = _with_decay(parameter, grad, lr, group)
        mu, mu_next = _momenta(beta1, step, group["momentum_decay"])
        product = state["mu_product"].mul_(mu)
        mean, square = averaged(state, grad, beta1, beta2)
        below = square.div(1 - beta2**step).sqrt().add(group["eps"])
        ahead = product * mu_next
        now, later = grad * (-lr * (1.0 - mu) / (1.0 - product)), mean * (-lr * mu_next / (1.0 - ahead))
        parameter.addcdiv_(now, below)
        parameter.addcdiv_(later, below)

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self._state(parameter, "exp_avg", "exp_avg_sq", mu_product=1)
        step = counted(state)
        lr = number(group["lr"])
        beta1, beta2 = group["betas"]
        grad = _decayed(parameter, grad, lr, group)
        mu, mu_next = _momenta(beta1, step, group["momentum_decay"])
        product = state["mu_product"]
        product.array *= mu
        written(product)
        lerp(state["exp_avg"], grad, 1 - beta1)
        decayed_square(state["exp_avg_sq"], grad, beta2)
        below = np.sqrt(state["exp_avg_sq"].array / (1 - beta2**step)) + group["eps"]
        total = float(product.array)
        divided(parameter, below, grad, -lr * (1.0 - mu) / (1.0 - total))
        divided(parameter, below, state["exp_avg"].array, -lr * mu_next / (1.0 - total * mu_next))


def _momenta(beta: float, step: float, decay: float) -> tuple[float, float]:
    """Return the momentum of a step and of the next one."""
    now, later = (beta * (1.0 - 0.5 * (0.96 ** (number * decay))) for number in (step, step + 1))
    return now, later


class RAdam(Optimizer):
    """Adam that waits with scaling until its average of squares can be trusted."""

    def __init__(
        self, params: object, lr: float = 1e-3, betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        })

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        state = self._state(parameter, "exp_avg", "exp_avg_sq")
        step = counted(state)
        lr = number(group["lr"])
        beta1, beta2 = group["betas"]
        array = parameter.array
        grad = _decayed(parameter, grad, lr, group)
        lerp(state["exp_avg"], grad, 1 - beta1)
        decayed_square(state["exp_avg_sq"], grad, beta2)
        corrected = state["exp_avg"].array / (1 - beta1**step)
        corrected *= lr
        rectified = _rectified(beta2, step)
        if rectified is not None:
            corrected *= (1 - beta2**step) ** 0.5 / (np.sqrt(state["exp_avg_sq"].array) + group["eps"])
            corrected *= rectified
        array -= corrected
        written(parameter)

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        state = self._state(parameter, "exp_avg", "exp_avg_sq")
        step, lr = counted(state), rate(group["lr"])
        beta1, beta2 = group["betas"]
        grad = _with_decay(parameter, grad, lr, group)
        mean, square = averaged(state, grad, beta1, beta2)
        change = mean / (1 - beta1**step) * lr
        rectified = _rectified(beta2, step)
        if rectified is not None:
            change = change * ((1 - beta2**step) ** 0.5 / square.sqrt().add(group["eps"])) * rectified
        parameter.add_(change, alpha=-1.0)


def _rectified(beta: float, step: float) -> float | None:
    """Return the factor of an adaptive step; None as long as the average of squares is of too few."""
    most = 2 / (1 - beta) - 1
    length = most - 2 * step * (beta**step) / (1 - beta**step)
    return float(((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5) if length > 5.0 else None
