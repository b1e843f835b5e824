"""Learning rate schedules of one formula: steps, exponential, linear, cosine, by a function."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from gradsh.api.optim.optimizer import Optimizer
from gradsh.api.optim.scheduler_base import LRScheduler, rates
from gradsh.engine.attribute_names import attributes_of, take_over
from gradsh.text.fault import fail


class _ByFunction(LRScheduler):
    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        given = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(given) != groups:
            raise fail("value", f"Expected {groups} lr_lambdas, but got {len(given)}", ValueError)
        self.lr_lambdas: list[Callable[[int], float]] = given
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, object]:
        """Return everything but the optimizer and the functions; of callable objects, their attributes."""
        state = super().state_dict()
        del state["lr_lambdas"]
        return {**state, "lr_lambdas": [attributes_of(one) if _is_own(one) else None for one in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict returned; the functions stay."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})
        for one, held in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if held is not None and _is_own(one):
                take_over(one, held)


def _is_own(function: object) -> bool:
    """Whether what computes a rate is an object of a class of the program's: its attributes are part of the state."""
    return not isinstance(function, FunctionType) and type(function).__module__.partition(".")[0] not in {"builtins", "gradsh", "torch"}


class LambdaLR(_ByFunction):
    """The initial rate times lr_lambda(epoch)."""

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        return [base * fn(self.last_epoch) for fn, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunction):
    """Multiply the rate by lr_lambda(epoch) at each step."""

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        if self._is_initial:
            return rates(self.optimizer)
        return [rate * fn(self.last_epoch) for fn, rate in zip(self.lr_lambdas, rates(self.optimizer), strict=True)]


class StepLR(LRScheduler):
    """Multiply the rate by gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return rates(self.optimizer)
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[object]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the rate by gamma at each milestone."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        if self.last_epoch not in self.milestones:
            return rates(self.optimizer)
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[object]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times factor until total_iters."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise fail("value", "Constant multiplicative factor expected to be between 0 and 1.", ValueError)
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else rates(self.optimizer)

    def _get_closed_form_lr(self) -> list[object]:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes straight from start_factor to end_factor."""

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            message = "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            raise fail("value", message, ValueError)
        if end_factor > 1.0 or end_factor < 0:
            raise fail("value", "Ending multiplicative factor expected to be between 0 and 1.", ValueError)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates(self.optimizer)
        rise = self.end_factor - self.start_factor
        return self._scaled(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def _get_closed_form_lr(self) -> list[object]:
        rise = self.end_factor - self.start_factor
        done = min(self.total_iters, self.last_epoch)
        return [base * (self.start_factor + rise * done / self.total_iters) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the rate by gamma at each step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        return rates(self.optimizer) if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Let the rate fall to 0 by a power of the remaining share."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates(self.optimizer)
        left, before = 1.0 - self.last_epoch / self.total_iters, 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._scaled((left / before) ** self.power)

    def _get_closed_form_lr(self) -> list[object]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Let the rate fall to eta_min along half a cosine of T_max epochs, and rise again."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        epoch, period, least = self.last_epoch, self.T_max, self.eta_min
        held = rates(self.optimizer)
        if self._is_initial:
            return held
        if self._step_count == 1 and epoch > 0:
            return [least + (base - least) * (1 + math.cos(epoch * math.pi / period)) / 2 for base in self.base_lrs]
        if (epoch - 1 - period) % (2 * period) == 0:
            turn = 1 - math.cos(math.pi / period)
            return [rate + (base - least) * turn / 2 for rate, base in zip(held, self.base_lrs, strict=True)]
        now, before = (1 + math.cos(math.pi * at / period) for at in (epoch, epoch - 1))
        return [now / before * (rate - least) + least for rate in held]

    def _get_closed_form_lr(self) -> list[object]:
        least = self.eta_min
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [least + (base - least) * height / 2 for base in self.base_lrs]
