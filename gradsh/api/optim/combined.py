"""Schedulers of schedulers, and the one that watches a metric."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from gradsh.api.optim.optimizer import Optimizer
from gradsh.api.optim.scheduler_base import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, rates, set_rate
from gradsh.engine.ambient import current
from gradsh.text.fault import fail


def _check(owner: str, schedulers: Sequence[object], optimizer: object, none: str) -> None:
    if len(schedulers) < 1:
        raise fail("value", f"{owner} expects at least one scheduler{none}, but got no scheduler.", ValueError)
    for place, one in enumerate(schedulers):
        if not hasattr(one, "optimizer"):
            raise fail("type", f"{owner} at index {place} should have `optimizer` as its attribute.", TypeError)
        if isinstance(one, ReduceLROnPlateau):
            message = (
                f"{owner} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified when "
                f"calling `step`, but got one at index {place} in the given schedulers sequence."
            )
            raise fail("value", message, ValueError)
        if one.optimizer is not optimizer:
            message = (
                f"{owner} expects all schedulers to belong to the same optimizer, but got scheduler {type(one).__name__} at "
                f"index {place} has {one.optimizer}, which is different from {type(optimizer).__name__}."
            )
            raise fail("value", message, ValueError)


class _Combined(LRScheduler):
    _schedulers: list[LRScheduler]

    def state_dict(self) -> dict[str, object]:
        """Return everything but the optimizer, with the schedulers' own state."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [one.state_dict() for one in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict returned."""
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for one, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            one.load_state_dict(state)


class SequentialLR(_Combined):
    """One scheduler after the other, changing at the milestones."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        _check("SequentialLR", schedulers, optimizer, "")
        if len(milestones) != len(schedulers) - 1:
            message = (
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
            raise fail("value", message, ValueError)
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        _back_one(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._begin()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Step the scheduler whose turn it is."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _back_one(scheduler: object) -> None:
    """Take back the step that each scheduler made when it was built."""
    if hasattr(scheduler, "_schedulers"):
        for one in scheduler._schedulers:
            _back_one(one)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class ChainedScheduler(_Combined):
    """Several schedulers, all stepped at each step."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        owner = optimizer or (schedulers[0].optimizer if schedulers else None)
        _check("ChainedScheduler", schedulers, owner, " to be chained")
        assert owner is not None
        self._schedulers = list(schedulers)
        self.optimizer = owner
        self._last_lr = rates(owner)

    def step(self) -> None:  # type: ignore[override]
        """Step all."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates(self.optimizer)


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rate by factor when a metric has not improved for `patience` epochs."""

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: float = 0, eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise fail("value", "Factor should be < 1.0.", ValueError)
        check_optimizer(optimizer)
        if mode not in {"min", "max"}:
            raise fail("value", f"mode {mode} is unknown!", ValueError)
        if threshold_mode not in {"rel", "abs"}:
            raise fail("value", f"threshold mode {threshold_mode} is unknown!", ValueError)
        count = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)) and len(min_lr) != count:
            raise fail("value", f"expected {count} min_lrs, got {len(min_lr)}", ValueError)
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * count
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = rates(optimizer)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether the scheduler waits after a reduction."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the metric of an epoch and reduce the rates if it is time."""
        metric = float(metrics)
        if epoch is not None:
            current().warning(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(metric):
            self.best = metric
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates(self.optimizer)

    def _is_better(self, value: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            bound = self.best * (1.0 - self.threshold if sign == 1 else self.threshold + 1.0)
        else:
            bound = self.best - sign * self.threshold
        return value < bound if sign == 1 else value > bound

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                message = (
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when `ReduceLROnPlateau` was "
                    f"initialized ({len(self.min_lrs)}), usually due to a new param group being added to the optimizer. Please "
                    "modify the `min_lrs` field to match the length of the `optimizer` param groups."
                )
                raise fail("value", message)
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, bound in zip(groups, self.min_lrs, strict=True):
            rate = float(group["lr"])
            reduced = max(rate * self.factor, bound)
            if rate - reduced > self.eps:
                set_rate(group, reduced)
