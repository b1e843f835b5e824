"""Grad mode as scripts switch it: no_grad, enable_grad, set_grad_enabled, inference_mode; as contexts and decorators."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.inference import inferring, switch

_CLASSES = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods. To "
    "preserve the current behavior of class decoration, you can directly decorate the `__init__` method and nothing else."
)


class _Mode:
    """A context that sets grad mode and puts it back; also decorates functions and generators."""

    __slots__ = ("_before", "_enabled")
    __script_attributes__ = frozenset({"__enter__", "__exit__"})

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """Decorate at once when used without parentheses, as in `@torch.no_grad`."""
        given = (*args, *kwargs.values())
        if cls is not set_grad_enabled and len(given) == 1 and callable(given[0]):
            return cls()(given[0])
        return object.__new__(cls)

    def __init__(self) -> None:
        self._enabled = False
        self._before: list[bool] = []

    def __enter__(self) -> None:
        ambient = current()
        self._before.append(ambient.grad_enabled)
        ambient.grad_enabled = self._enabled

    def __exit__(self, *_: object) -> None:
        current().grad_enabled = self._before.pop()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., object]:
        """Return `function` running in this mode."""
        if inspect.isclass(function):
            current().warning(_CLASSES, FutureWarning)
        if inspect.isgeneratorfunction(function):
            return self._generator(function)

        def decorated(*args: object, **kwargs: object) -> object:
            with self:
                return function(*args, **kwargs)

        return decorated if inspect.isclass(function) else functools.wraps(function)(decorated)

    def _generator(self, function: Callable[..., Any]) -> Callable[..., object]:
        """Return a generator that runs in this mode from each `yield` to the next, whatever resumes it."""

        @functools.wraps(function)
        def decorated(*args: object, **kwargs: object) -> object:
            running = function(*args, **kwargs)
            resume, given = running.send, None
            while True:
                try:
                    with self:
                        value = resume(given)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, given = running.send, (yield value)
                except GeneratorExit:
                    with self:
                        running.close()
                    raise
                except BaseException as error:  # noqa: BLE001  (the generator decides what becomes of it)
                    resume, given = running.throw, error

        return decorated


class no_grad(_Mode):
    """Record nothing within: results need no gradient and save nothing."""

    __slots__ = ()


class enable_grad(_Mode):
    """Record within, inside a no_grad block too."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self._enabled = True


class inference_mode(_Mode):
    """Record nothing within, and make inference tensors, which no graph may keep."""

    __slots__ = ("_mode", "_modes")

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._mode = bool(mode)
        self._modes: list[bool] = []

    def __enter__(self) -> None:
        self._enabled = not self._mode
        super().__enter__()
        self._modes.append(inferring())
        switch(self._mode)

    def __exit__(self, *exception: object) -> None:
        switch(self._modes.pop())
        super().__exit__(*exception)


class set_grad_enabled(_Mode):
    """Set grad mode at once; as a context, put it back at the end."""

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._enabled = bool(mode)
        ambient = current()
        self._before.append(ambient.grad_enabled)
        ambient.grad_enabled = self._enabled

    def __enter__(self) -> None:
        current().grad_enabled = self._enabled

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self._enabled})"

    def __call__(self, function: Callable[..., object]) -> Callable[..., object]:
        """Return `function` running in this mode; grad mode here stays as it was."""
        current().grad_enabled = self._before.pop()
        return _Mode.__call__(no_grad() if not self._enabled else enable_grad(), function)


_THREADS = "multithreading"


def multithreading() -> bool:
    """Return whether backward might use several threads. It uses one."""
    return current().flags.get(_THREADS, True)


class set_multithreading_enabled(_Mode):
    """Say whether backward may use threads, at once; as a context, put it back at the end. It uses one."""

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._enabled = bool(mode)
        self._before = [multithreading()]
        current().flags[_THREADS] = self._enabled

    def __enter__(self) -> None:
        current().flags[_THREADS] = self._enabled

    def __exit__(self, *_: object) -> None:
        current().flags[_THREADS] = self._before[0]


def is_grad_enabled() -> bool:
    """Return whether operations are being recorded."""
    return current().grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return whether inference mode is on."""
    return inferring()
