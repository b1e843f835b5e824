"""PyTorch's functions that call none of the user's: their own lines are not followed while they run (Python 3.11).

A trace function is called for every Python function that runs, and slows every instruction; an optimizer's step runs dozens
of functions, a layer of a net six. What a pass calls of the user's (hooks, custom functions, a checkpoint's part), and a
module of the user's within a `Sequential`, is followed: `Log.hear` turns the trace on again there.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

from gradsh.lens.lines import Log
from gradsh.lens.replaced import Replaced, is_compiling

if TYPE_CHECKING:
    from gradsh.lens.lines import LineTracer

_PASSES = ((torch.Tensor, "backward"), (torch.autograd, "backward"), (torch.autograd, "grad"))
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_LAYERS = frozenset(
    f"torch.nn.modules.{name}" for name in (
        "activation", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten", "fold", "instancenorm",
        "linear", "loss", "normalization", "padding", "pixelshuffle", "pooling", "rnn", "sparse", "upsampling",
    )
)
"""Where the modules are that call no function of the user's, but for other modules."""
_CALLERS = frozenset({"TripletMarginWithDistanceLoss"})
"""Those among them that call one which they were given."""
_KINDS: dict[type, bool] = {}
"""Whether a class of modules is one of these."""
_ALL_HOOKS, _ALL_PRE_HOOKS = torch.nn.modules.module._global_forward_hooks, torch.nn.modules.module._global_forward_pre_hooks
_mode_is_on = torch._C._is_torch_function_mode_enabled


class Quiet:
    """Wraps these functions while it is on."""

    def __init__(self, lines: "LineTracer") -> None:
        self.lines = lines
        self._replaced = Replaced()

    def start(self) -> None:
        """Wrap them; a class of optimizers that is first used later is wrapped then."""
        if hasattr(sys, "monitoring"):
            return
        base = torch.optim.Optimizer
        for owner, name, is_plain in (
            *((owner, name, _is_plain_pass) for owner, name in _PASSES),
            (torch.nn.Module, "__call__", _is_layer), (base, "zero_grad", lambda _, __: True),
        ):
            self._replaced.put(owner, name, partial(self._quiet, is_plain=is_plain))
        self._replaced.put(base, "_patch_step_function", self._preparing)
        for kind in _below(base):
            self._prepare(kind)

    def stop(self) -> None:
        """Put back what was there."""
        self._replaced.put_back()

    def _preparing(self, original: Callable[[object], None]) -> Callable[[object], None]:
        """Return what makes a class ready when its first optimizer is made, and wraps its step."""
        def preparing(optimizer: object) -> None:
            original(optimizer)
            self._prepare(type(optimizer))

        return preparing

    def _prepare(self, kind: Any) -> None:
        """Wrap the step of a class of PyTorch's optimizers that is in use."""
        step = vars(kind).get("step")
        if not getattr(step, "hooked", False) or hasattr(step, "quiet"):
            return
        code = getattr(inspect.unwrap(step), "__code__", None)
        if code is not None and not self.lines.files.is_own(code.co_filename):
            self._replaced.put(kind, "step", partial(self._quiet, is_plain=_is_plain_step))

    def _quiet(
        self, function: Callable[..., object], is_plain: Callable[[object, object], bool]
    ) -> Callable[..., object]:
        """Return what calls a function, without the trace where no line of the user's can run in it, else with it."""
        gettrace, settrace, lines = sys.gettrace, sys.settrace, self.lines

        def quiet(*args: object, **kwargs: object) -> object:
            if is_compiling():
                return function(*args, **kwargs)
            trace: Any = gettrace()
            if trace is None:
                log = lines.log()
                if log.muted is None or is_plain(args, kwargs):
                    return function(*args, **kwargs)
                heard = log.hear()
                try:
                    return function(*args, **kwargs)
                finally:
                    log.mute(heard)
            ours = getattr(trace, "log", None)
            if type(ours) is not Log:
                return function(*args, **kwargs)
            settrace(None)
            if not is_plain(args, kwargs):
                settrace(trace)
                return function(*args, **kwargs)
            ours.muted = trace
            try:
                return function(*args, **kwargs)
            finally:
                if ours.muted is trace and gettrace() is None:  # else the watcher was stopped, or a debugger began
                    settrace(trace)
                ours.muted = None

        quiet.quiet = True  # type: ignore[attr-defined]
        return quiet


def _is_layer(args: Any, kwargs: Any) -> bool:
    """Whether the call of a module runs functions of PyTorch's alone, but for calls of other modules."""
    module = args[0]
    kind = type(module)
    if kind not in _KINDS:
        _KINDS[kind] = kind.__module__ in _LAYERS and kind.__name__ not in _CALLERS
    if not _KINDS[kind] or module._forward_hooks or module._forward_pre_hooks or _ALL_HOOKS or _ALL_PRE_HOOKS:
        return False
    if "forward" in module.__dict__ or _mode_is_on():
        return False
    for one in (*args, *kwargs.values()) if kwargs else args:  # noqa: SIM110  # half the time of `all`
        if isinstance(one, torch.Tensor) and type(one) not in _PLAIN:
            return False
    return True


def _is_plain_pass(args: Any, _: object) -> bool:
    """Whether no class of the user's may answer in the place of a pass's function."""
    return type(args[0]) in _PLAIN or type(args[0]) in {tuple, list} if args else False


def _is_plain_step(args: Any, kwargs: object) -> bool:
    """Whether a step is given no closure and has no hooks."""
    optimizer = args[0]
    return len(args) == 1 and not kwargs and not (
        _global_optimizer_pre_hooks or _global_optimizer_post_hooks
        or optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks
    )


def _below(kind: Any) -> Iterator[object]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)
