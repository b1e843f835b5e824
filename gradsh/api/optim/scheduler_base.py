"""What learning rate schedulers share: the base rates, the count of steps, saving and loading."""

from collections.abc import Callable
from typing import Any

from gradsh.api.optim.optimizer import Optimizer, ParamGroup
from gradsh.engine.ambient import current
from gradsh.engine.attribute_names import ScriptBase, take_over
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form is "
    "used instead of the new chainable form, where available. Please open an issue if you are unable to replicate your use "
    "case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in "
    "the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping "
    "the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def rates(optimizer: Optimizer, key: str = "lr") -> list[float]:
    """Return the learning rates of the groups (or their first ones); tensors as copies, since steps write into them."""
    return [copied(group[key]) for group in optimizer.param_groups]


def copied(rate: object) -> Any:
    """Return a rate that no step writes into."""
    return rate.clone() if isinstance(rate, Tensor) else rate


def set_rate(group: ParamGroup, rate: Tensor | float) -> None:
    """Give a group a learning rate: a tensor stays the same one."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(rate))
    else:
        group["lr"] = rate


def check_optimizer(optimizer: object) -> None:
    """Refuse anything but an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise fail("type", f"{type(optimizer).__name__} is not an Optimizer", TypeError)


class _Counting:
    """What a scheduler knows beside its attributes: how often the optimizer had stepped when it was made."""

    __slots__ = ("_steps_before",)
    __script_bag__ = True
    _steps_before: int


class LRScheduler(ScriptBase, _Counting):
    """Base of the schedulers: `step()` after each `optimizer.step()` (or epoch) sets the groups' learning rates."""

    __script_bag__ = True

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        cls.__script_bag__ = True  # their attributes are PyTorch's, too

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise fail("key", _resuming(place), KeyError)
        self.base_lrs = rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._steps_before = getattr(optimizer, "_step_count", 0)
        self._begin()

    def _begin(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, object]:
        """Return everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, object]) -> None:
        """Take over what state_dict returned: values of names that the scheduler has, of the types they have."""
        take_over(self, state_dict)

    def get_last_lr(self) -> list[float]:
        """Return the learning rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the learning rates for `last_epoch`; subclasses define it."""
        raise fail("type", "a scheduler defines get_lr", NotImplementedError)

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch (or to `epoch`) and set the learning rates."""
        counts = type(self.optimizer).step is Optimizer.step  # one's own step counts nothing
        if counts and self._step_count == 1 and getattr(self.optimizer, "_step_count", 0) == self._steps_before:
            current().warning(_ORDER)
        self._step_count += 1
        if epoch is not None:
            current().warning(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            values = self.get_lr()
        else:
            self.last_epoch = epoch
            closed: Callable[[], list[Any]] = getattr(self, "_get_closed_form_lr", self.get_lr)
            values = closed()
        self._get_lr_called_within_step = False
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, value)
        self._last_lr = rates(self.optimizer)

    def _scaled(self, factor: float) -> list[float]:
        return [rate * factor for rate in rates(self.optimizer)]


def _resuming(place: int) -> str:
    return (
        f"param 'initial_lr' is not specified in param_groups[{place}] when resuming scheduler with last_epoch >= 0.\n"
        "This typically happens when:\n1. You're trying to resume training from a checkpoint but haven't properly loaded the "
        "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
    )
