"""Stochastic gradient descent with momentum."""

from typing import Any

import numpy as np

from gradsh.api.optim.optimizer import Optimizer, ParamGroup, check_signs, decayed, number, rate, with_decay
from gradsh.engine.graph.tensor import Tensor, make, written
from gradsh.engine.values.dtype import Array
from gradsh.ops.kernels.fused import accumulate, fused
from gradsh.text.fault import fail


class SGD(Optimizer):
    """p -= lr * v, with v = momentum * v + (1 - dampening) * (grad + weight_decay * p)."""

    def __init__(
        self, params: object, lr: float = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise fail("value", "Tensor lr must be 1-element", ValueError)
        check_signs(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise fail("value", "Nesterov momentum requires a momentum and zero dampening", ValueError)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        })

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        array = parameter.array
        grad = decayed(parameter, grad, group)
        momentum = group["momentum"]
        if momentum != 0:
            state = self.state[parameter]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = make(np.array(grad))
            else:
                buffer.array *= momentum
                accumulate(buffer.array, grad, 1 - group["dampening"])
                written(buffer, 2)
            grad = fused(buffer.array, momentum, grad) if group["nesterov"] else buffer.array
        accumulate(array, grad, -number(group["lr"]))
        written(parameter)

    def _recorded(self, parameter: Any, grad: Any, group: ParamGroup) -> None:
        grad = with_decay(parameter, grad, group)
        momentum, lr = group["momentum"], rate(group["lr"])
        if momentum != 0:
            state = self.state[parameter]
            buffer: Any = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        if isinstance(lr, Tensor) and lr.requires_grad:
            parameter.addcmul_(grad, lr, value=-1)
        else:
            parameter.add_(grad, alpha=-lr)
