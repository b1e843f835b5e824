"""Learning rate schedules in cycles: warm restarts, cyclic rates, one cycle."""

import inspect
import math
from collections.abc import Callable
from typing import Any

from gradsh.api.optim.optimizer import Optimizer, ParamGroup
from gradsh.api.optim.scheduler_base import LRScheduler, check_optimizer, rates, set_rate
from gradsh.engine.attribute_names import attributes_of, take_over
from gradsh.text.fault import fail

_NO_MOMENTUM = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"


def _for_groups(name: str, optimizer: Optimizer, value: object) -> list[Any]:
    """Return a setting for each group."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise fail("value", f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                            f"param_groups has {count}.", ValueError)
    return list(value)


def _set_momentum(group: ParamGroup, value: float, first_beta: bool) -> None:
    if first_beta:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class _WithMomentum(LRScheduler):
    """A schedule that moves momentum against the learning rate."""

    def _prepare_momentum(self, optimizer: Optimizer, base: object, largest: object, cycle: bool, last_epoch: int) -> None:
        self.cycle_momentum = cycle
        if not cycle:
            return
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise fail("value", _NO_MOMENTUM, ValueError)
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = _for_groups("base_momentum", optimizer, base)
        self.max_momentums = _for_groups("max_momentum", optimizer, largest)
        if last_epoch != -1:
            return
        for high, low, group in zip(self.max_momentums, self.base_momentums, optimizer.param_groups, strict=True):
            _set_momentum(group, high, self.use_beta1)
            group["max_momentum"] = high
            group["base_momentum"] = low


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines, each T_mult times as long as the one before, each starting from the full rate."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise fail("value", f"Expected positive integer T_0, but got {T_0}", ValueError)
        if T_mult < 1 or not isinstance(T_mult, int):
            raise fail("value", f"Expected integer T_mult >= 1, but got {T_mult}", ValueError)
        self.T_0 = T_0
        self.T_i: float = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """Return the rates for this epoch."""
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch (or to `epoch`, which may be a fraction)."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = False
        for group, value in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            set_rate(group, value)
        self._last_lr = rates(self.optimizer)

    def _jump(self, epoch: float) -> None:
        if epoch < 0:
            raise fail("value", f"Expected non-negative epoch, but got {epoch}", ValueError)
        if epoch < self.T_0:
            self.T_i = self.T_0
            self.T_cur = epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            cycle = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**cycle - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**cycle


class CyclicLR(_WithMomentum):
    """Rates that go up and down between two bounds."""

    def __init__(
        self, optimizer: Optimizer, base_lr: object, max_lr: object, step_size_up: int = 2000, step_size_down: int | None = None,
        mode: str = "triangular", gamma: float = 1.0, scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle", cycle_momentum: bool = True, base_momentum: float = 0.8, max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        lowest = _for_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(lowest, optimizer.param_groups, strict=True):
                set_rate(group, rate)
        self.max_lrs = _for_groups("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in {"triangular", "triangular2", "exp_range"} and scale_fn is None:
            raise fail("value", "mode is invalid and scale_fn is None", ValueError)
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self._prepare_momentum(optimizer, base_momentum, max_momentum, cycle_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lowest

    def scale_fn(self, x: float) -> float:
        """Return how much of the full height a cycle (or step) number has."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return float(1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x)

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer; of one's own scale function only what an object of a class holds."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        held = custom is not None and not inspect.isroutine(custom)
        state["_scale_fn_custom"] = attributes_of(custom) if held else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what state_dict returned; a scale function stays one's own."""
        held = {**state_dict}
        attributes = held.pop("_scale_fn_custom", None)
        super().load_state_dict(held)
        if attributes is not None and self._scale_fn_custom is not None:
            take_over(self._scale_fn_custom, attributes)

    def get_lr(self) -> list[Any]:
        """Return the rates for this step; sets momentum too."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True)
            for low, high, group in bounds:
                _set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]


class OneCycleLR(_WithMomentum):
    """One rise to max_lr and one long fall."""

    def __init__(
        self, optimizer: Optimizer, max_lr: object, total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
        cycle_momentum: bool = True, base_momentum: object = 0.85, max_momentum: object = 0.95, div_factor: float = 25.0,
        final_div_factor: float = 10000.0, three_phase: bool = False, last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise fail("value", f"Expected float between 0 and 1 pct_start, but got {pct_start}", ValueError)
        if anneal_strategy not in {"cos", "linear"}:
            message = f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            raise fail("value", message, ValueError)
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for rate, group in zip(_for_groups("max_lr", optimizer, max_lr), optimizer.param_groups, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self._prepare_momentum(optimizer, base_momentum, max_momentum, cycle_momentum, last_epoch)
        for name in ("base_momentums", "max_momentums"):  # PyTorch's keeps these in the groups only
            vars(self).pop(name, None)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self) -> list[Any]:
        """Return the rates for this step; sets momentum too."""
        number = self.last_epoch
        if number > self.total_steps:
            message = f"Tried to step {number} times. The specified number of total steps is {self.total_steps}"
            raise fail("value", message, ValueError)
        start = 0.0
        phase = self._schedule_phases[0]
        for phase in self._schedule_phases:
            if number <= phase["end_step"]:
                break
            start = start if phase is self._schedule_phases[-1] else phase["end_step"]
        end, low_lr, high_lr, low, high = phase.values()
        share = (number - start) / (end - start)
        found = []
        for group in self.optimizer.param_groups:
            found.append(self._between(group[low_lr], group[high_lr], share))
            if self.cycle_momentum:
                _set_momentum(group, self._between(group[low], group[high], share), self.use_beta1)
        return found


def _total_steps(total: int | None, epochs: int | None, per_epoch: int | None) -> int:
    if total is None and (epochs is None or per_epoch is None):
        raise fail("value", "You must define either total_steps OR (epochs AND steps_per_epoch)", ValueError)
    given = {"total_steps": total} if total is not None else {"epochs": epochs, "steps_per_epoch": per_epoch}
    product = 1
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise fail("value", f"Expected positive integer {name}, but got {value}", ValueError)
        product *= value
    return product


_PHASE = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")


def _phases(share: float, steps: int, three: bool) -> list[dict[str, Any]]:
    """Return the phases: last step, where rate and momentum start and end."""
    rise = (float(share * steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    fall = (float(2 * share * steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
    phases: list[tuple[Any, ...]] = [rise, fall, (steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
    if not three:
        phases = [rise, (steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [dict(zip(_PHASE, phase, strict=True)) for phase in phases]
