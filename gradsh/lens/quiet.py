"""PyTorch's functions that call none of the user's: their own lines are not followed while they run (Python 3.11).

A trace function is called for every Python function that runs, and an optimizer's step runs dozens. What a pass calls
of the user's (hooks, custom functions, a checkpoint's part) is followed: `Log.heard` turns the trace on again there.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import _global_optimizer_post_hooks, _global_optimizer_pre_hooks

from gradsh.lens.lines import is_ours

if TYPE_CHECKING:
    from gradsh.lens.lines import Lines

_PASSES = ((torch.Tensor, "backward"), (torch.autograd, "backward"), (torch.autograd, "grad"))
_PLAIN = (torch.Tensor, torch.nn.Parameter)


class Quiet:
    """Wraps these functions while it is on."""

    def __init__(self, lines: "Lines") -> None:
        self.lines = lines
        self._put_back: list[tuple[Any, str, Any]] = []

    def start(self) -> None:
        """Wrap them; a class of optimizers that is first used later is wrapped then."""
        if hasattr(sys, "monitoring"):
            return
        for owner, name in _PASSES:
            self._replace(owner, name, self._quiet(getattr(owner, name), _is_plain_pass))
        base = torch.optim.Optimizer
        self._replace(base, "zero_grad", self._quiet(base.zero_grad, lambda _, __: True))
        self._replace(base, "_patch_step_function", self._preparing(base._patch_step_function))
        for kind in _below(base):
            self._prepare(kind)

    def stop(self) -> None:
        """Put back what was there."""
        for owner, name, original in reversed(self._put_back):
            setattr(owner, name, original)
        self._put_back.clear()

    def _replace(self, owner: Any, name: str, fresh: Any) -> None:
        self._put_back.append((owner, name, vars(owner)[name]))
        setattr(owner, name, fresh)

    def _preparing(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return what makes a class ready when its first optimizer is made, and wraps its step."""
        @functools.wraps(original)
        def preparing(optimizer: Any) -> None:
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
            self._replace(kind, "step", self._quiet(step, _is_plain_step))

    @staticmethod
    def _quiet(function: Callable[..., Any], is_plain: Callable[[Any, Any], bool]) -> Callable[..., Any]:
        gettrace, settrace = sys.gettrace, sys.settrace

        @functools.wraps(function)
        def quiet(*args: Any, **kwargs: Any) -> Any:
            trace: Any = gettrace()
            if not is_ours(trace):
                return function(*args, **kwargs)
            settrace(None)
            if not is_plain(args, kwargs):
                settrace(trace)
                return function(*args, **kwargs)
            log = trace.log
            log.muted = trace
            try:
                return function(*args, **kwargs)
            finally:
                if log.muted is trace and gettrace() is None:  # else the watcher was stopped, or a debugger began
                    settrace(trace)
                log.muted = None

        quiet.quiet = True  # type: ignore[attr-defined]
        return quiet


def _is_plain_pass(args: Any, _: Any) -> bool:
    """Whether no class of the user's may answer in the place of a pass's function."""
    return type(args[0]) in _PLAIN or type(args[0]) in {tuple, list} if args else False


def _is_plain_step(args: Any, kwargs: Any) -> bool:
    """Whether a step is given no closure and has no hooks."""
    optimizer = args[0]
    return len(args) == 1 and not kwargs and not (
        _global_optimizer_pre_hooks or _global_optimizer_post_hooks
        or optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks
    )


def _below(kind: Any) -> Iterator[Any]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)
