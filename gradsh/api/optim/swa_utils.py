"""torch.optim.swa_utils: averages of a model's parameters over training, and the learning rate that goes with them."""

import math
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from gradsh.api.copying import deepcopy
from gradsh.api.modes import no_grad
from gradsh.api.nn.batchnorm import _BatchNorm
from gradsh.api.nn.module import Module
from gradsh.api.optim.optimizer import Optimizer
from gradsh.api.optim.scheduler_base import LRScheduler
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail

Average = Callable[[Any, Any, Any], Any]
Averages = Callable[[Any, Any, Any], None]


def get_swa_avg_fn() -> Average:
    """Return the function that takes one more value into a mean."""
    return lambda averaged, current, num_averaged: averaged + (current - averaged) / (num_averaged + 1)


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return the function that moves an average by `1 - decay` towards a value."""
    _check_decay(decay)
    return lambda averaged, current, num_averaged: decay * averaged + (1 - decay) * current


def get_swa_multi_avg_fn() -> Averages:
    """Return `get_swa_avg_fn` for lists, in place."""

    def update(averaged: list[Tensor], current: list[Tensor], num_averaged: Tensor) -> None:
        for one, value in zip(averaged, current, strict=True):
            one.lerp_(value, float(1 / (num_averaged + 1)))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """Return `get_ema_avg_fn` for lists, in place."""
    _check_decay(decay)

    def update(averaged: list[Tensor], current: list[Tensor], num_averaged: object) -> None:
        for one, value in zip(averaged, current, strict=True):
            if one.is_floating_point():
                one.lerp_(value, 1 - decay)
            else:
                one.copy_(one * decay + value * (1 - decay))

    return update


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise fail("value", f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.", ValueError)


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's, taken with `update_parameters`."""

    def __init__(
        self, model: Module, device: object = None, avg_fn: Average | None = None, multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise fail("assert", "Only one of avg_fn and multi_avg_fn should be provided", AssertionError)
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", find("tensor")(0))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: object, **kwargs: object) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> list[tuple[Any, Any]]:
        own: Iterable[Any] = self.module.parameters()
        theirs: Iterable[Any] = model.parameters()
        if self.use_buffers:
            own, theirs = chain(own, self.module.buffers()), chain(theirs, model.buffers())
        return [(one.detach(), other.detach()) for one, other in zip(own, theirs, strict=False)]

    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters into the averages; the first ones are copied."""
        pairs = self._averaged(model)
        with no_grad():
            if self.n_averaged == 0:
                for averaged, current in pairs:
                    averaged.copy_(current)
            elif self.avg_fn is None:
                averages, values = [one for one, _ in pairs], [value for _, value in pairs]
                (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, values, self.n_averaged)
            else:
                for averaged, current in pairs:
                    averaged.copy_(self.avg_fn(averaged, current, self.n_averaged))
            if not self.use_buffers:
                for mine, other in zip(self.module.buffers(), model.buffers(), strict=False):
                    mine.detach().copy_(other.detach())
            self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: object = None) -> None:
    """Compute the running statistics of a model's batch normalisations anew, over the batches of a loader."""
    norms = [one for one in model.modules() if isinstance(one, _BatchNorm)]
    if not norms:
        return
    momenta = [one.momentum for one in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    with no_grad():
        for batch in loader:
            inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(inputs if device is None else inputs.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


_ANNEALED: dict[str, Callable[[float], float]] = {"cos": lambda t: (1 - math.cos(math.pi * t)) / 2, "linear": lambda t: t}


class SWALR(LRScheduler):
    """Go from the groups' learning rates to `swa_lr` within `anneal_epochs` steps, and stay there."""

    def __init__(
        self, optimizer: Optimizer, swa_lr: object, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        groups = optimizer.param_groups
        given = swa_lr if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(groups)
        if len(given) != len(groups):
            message = (
                f"swa_lr must have the same length as optimizer.param_groups. swa_lr has {len(given)} values, "
                f"param_groups has {len(groups)}."
            )
            raise fail("value", message, ValueError)
        for rate, group in zip(given, groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in _ANNEALED:
            message = f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            raise fail("value", message, ValueError)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise fail("value", f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}", ValueError)
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        return float(_ANNEALED[self._anneal_strategy](max(0, min(1, step / max(1, self.anneal_epochs)))))

    def get_lr(self) -> list[Any]:
        """Return the rates for this step: what the rates were without the share so far, with the share of this step."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        found = []
        for group in self.optimizer.param_groups:
            aim = group["swa_lr"]
            first = aim if before == 1 else (group["lr"] - before * aim) / (1 - before)
            found.append(aim * now + first * (1 - now))
        return found
