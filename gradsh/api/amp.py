"""Mixed precision: `torch.autocast`, which converts what operations are given, and `GradScaler`, which scales losses.

On the CPU both do what PyTorch's do. For a GPU both are disabled, as PyTorch's are where there is none.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from gradsh.engine.ambient import current, standing_in, tell
from gradsh.engine.dispatch.autocast import autocast_state
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.values.device import Device
from gradsh.engine.values.dtype import DType, bfloat16, float16, of_numpy
from gradsh.engine.values.reduced import FLOAT16
from gradsh.text.fault import fail

_DISABLED = "it is disabled, since there is no GPU"
_DEVICES = ("cpu", "cuda", "mtia", "maia", "xpu", "hpu", "ipu", "mps", "xla")
_LOWER = (bfloat16, float16)


def _check_device_type(device_type: object) -> None:
    if not isinstance(device_type, str):
        raise fail("value", f"Expected `device_type` of type `str`, got: `{type(device_type)}`", ValueError)


def _deprecated(old: str, new: str) -> None:
    current().warn_once(old, f"`{old}(args...)` is deprecated. Please use `{new}` instead.")


@standing_in("autocast", _DISABLED)
class Autocast:
    """A block (or a decorated function) in which operations convert what they are given: products and convolutions to a lower
    precision (bfloat16 by default), losses and whatever needs it to float32.
    """

    __script_attributes__ = frozenset({"__enter__", "__exit__", "__call__", "device", "fast_dtype"})

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None,
    ) -> None:
        _check_device_type(device_type)
        if device_type not in _DEVICES:
            raise fail("value", f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type != "cpu":
            tell(Autocast)
            enabled = False
        elif enabled and self.fast_dtype not in _LOWER:
            current().warning(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            enabled = False
        self._enabled = enabled
        self._before: list[tuple[Any, ...]] = []

    def __enter__(self) -> "Autocast":
        state = autocast_state()
        self._before.append((state.enabled, state.dtype, state.cache_enabled))
        state.nesting += 1
        if self.device == "cpu":
            if self._enabled:
                state.dtype = self.fast_dtype.numpy
            state.switch(self._enabled)
        state.cache_enabled = self._cache_enabled
        return self

    def __exit__(self, *_: object) -> None:
        state = autocast_state()
        enabled, state.dtype, state.cache_enabled = self._before.pop()
        state.switch(enabled)
        state.nesting -= 1
        if not state.nesting:
            state.cache.clear()

    def __call__(self, func: Callable[..., object]) -> Callable[..., object]:
        """Return the function, run within the block at each call."""
        if not callable(func):
            message = (
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use autocast as a context manager? "
                "For example:\n    with torch.autocast(device_type=...):\n        output = model(input)"
            )
            raise fail("type", message, TypeError)

        @functools.wraps(func)
        def within(*args: object, **kwargs: object) -> object:
            with self:
                return func(*args, **kwargs)

        return within


def autocast_as_now() -> Autocast:
    """Return a block in which autocast for the CPU is as it is now: for what is computed again later."""
    return Autocast("cpu", get_autocast_dtype("cpu"), is_autocast_enabled("cpu"), is_autocast_cache_enabled())


@standing_in("autocast", _DISABLED)
def cuda_autocast(enabled: bool = True, dtype: DType = float16, cache_enabled: bool = True) -> Autocast:
    """Return `autocast` for a GPU."""
    _deprecated("torch.cuda.amp.autocast", "torch.amp.autocast('cuda', args...)")
    return Autocast("cuda", dtype, enabled, cache_enabled)


def cpu_autocast(enabled: bool = True, dtype: DType = bfloat16, cache_enabled: bool = True) -> Autocast:
    """Return `autocast` for the CPU."""
    _deprecated("torch.cpu.amp.autocast", "torch.amp.autocast('cpu', args...)")
    return Autocast("cpu", dtype, enabled, cache_enabled)


def is_autocast_available(device_type: str) -> bool:
    """Return whether PyTorch has autocast for a type of devices."""
    return device_type in _DEVICES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is on for a type of devices."""
    return device_type == "cpu" and autocast_state().enabled


def is_autocast_cpu_enabled() -> bool:
    """Return whether autocast is on for the CPU."""
    return autocast_state().enabled


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Turn autocast on or off for the CPU; for other devices nothing happens."""
    if device_type == "cpu":
        autocast_state().switch(enabled)


def get_autocast_dtype(device_type: str) -> DType:
    """Return the lower precision of a type of devices."""
    return of_numpy(autocast_state().dtype) if device_type == "cpu" else float16


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set the lower precision of the CPU; for other devices nothing happens."""
    if device_type == "cpu":
        autocast_state().dtype = dtype.numpy


def is_autocast_cache_enabled() -> bool:
    """Return whether conversions of leaves are kept."""
    return autocast_state().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether conversions of leaves are kept."""
    autocast_state().cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Drop the conversions of leaves that are kept."""
    autocast_state().cache.clear()


# --- functions of one's own -------------------------------------------------------------------------------------


def _cast(value: object, dtype: DType) -> Any:
    if isinstance(value, Tensor):
        return value.to(dtype) if value.is_floating_point() and value.array.dtype != np.float64 else value
    if isinstance(value, Mapping):
        return {_cast(key, dtype): _cast(one, dtype) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(one, dtype) for one in value)
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: DType | None = None) -> Any:
    """Let the `forward` of a Function run under autocast as it is, or with inputs of the dtype `cast_inputs` and without autocast."""
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> object:
        enabled = is_autocast_enabled(device_type)
        args[0]._dtype = get_autocast_dtype(device_type)
        args[0]._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return fwd(*args, **kwargs)
        with Autocast(device_type, enabled=False):
            return fwd(*_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Let the `backward` of a Function run with autocast as it was in its `forward`."""
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> object:
        with Autocast(device_type, args[0]._dtype, args[0]._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return decorated


def cuda_custom_fwd(fwd: object = None, *, cast_inputs: DType | None = None) -> Any:
    """Decorate a `forward` for a GPU."""
    return custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def cuda_custom_bwd(bwd: object = None) -> Any:
    """Decorate a `backward` for a GPU."""
    return custom_bwd(bwd, device_type="cuda")


# --- scaling of losses ------------------------------------------------------------------------------------------


class _Progress:
    """How far a step of one optimizer has come."""

    __slots__ = ("found_inf", "stepped")

    def __init__(self) -> None:
        self.found_inf: bool | None = None
        """Whether a gradient was infinite or nan; None before they were unscaled."""
        self.stepped = False


@standing_in("GradScaler", _DISABLED)
class GradScaler:
    """Scales losses, so that small gradients do not vanish in float16, and steps with the gradients scaled back."""

    __script_attributes__ = frozenset({
        "scale", "unscale_", "step", "update", "get_scale", "is_enabled", "state_dict", "load_state_dict", "get_growth_factor",
        "set_growth_factor", "get_backoff_factor", "set_backoff_factor", "get_growth_interval", "set_growth_interval",
    })

    def __init__(
        self, device: Any = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:
        if isinstance(device, Device):
            device = device.type
        elif not isinstance(device, str):  # that of torch.cuda.amp has none
            device, init_scale = "cuda", device
        self._enabled = enabled and device == "cpu"
        if enabled and not self._enabled:
            tell(GradScaler)
        if self._enabled and growth_factor <= 1.0:
            raise fail("value", "The growth factor must be > 1.0.", AssertionError)
        if self._enabled and backoff_factor >= 1.0:
            raise fail("value", "The backoff factor must be < 1.0.", AssertionError)
        self._scale = float(np.float32(init_scale))
        self._used = False
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._growth_tracker = 0
        self._progress: dict[int, _Progress] = {}

    def scale(self, outputs: object) -> Any:
        """Return a tensor (or each of several) times the scale. Raises ValueError for anything else."""
        if not self._enabled:
            return outputs
        self._used = True
        if isinstance(outputs, Tensor):
            return outputs * make(np.asarray(self._scale, np.float32))
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise fail("type", "outputs must be a Tensor or an iterable of Tensors", ValueError)

    def _check_used(self, what: str) -> None:
        if not self._used:
            message = (
                f"Attempted {what} but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
                "earlier in the iteration."
            )
            raise fail("other", message, AssertionError)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place, and look for infinities and nans.

        Raises RuntimeError where that was done since the last `update`, ValueError for gradients of float16.
        """
        if not self._enabled:
            return
        self._check_used("unscale_")
        progress = self._progress.setdefault(id(optimizer), _Progress())
        if progress.stepped:
            raise fail("other", "unscale_() is being called after step().")
        if progress.found_inf is not None:
            raise fail("other", "unscale_() has already been called on this optimizer since the last update().")
        inverse = float(np.float32(1.0 / self._scale)) if self._scale else float("inf")
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.array.dtype == FLOAT16:
                    raise fail("dtype", "Attempting to unscale FP16 gradients.", ValueError)
                progress.found_inf = bool(progress.found_inf) or not bool(np.isfinite(grad.array).all())
                grad.detach().mul_(inverse)

    def step(self, optimizer: Any, *args: object, **kwargs: object) -> Any:
        """Scale the gradients back, if `unscale_` has not, and call the optimizer's `step` if all of them are finite.

        Raises RuntimeError for a second call before `update`, and for a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise fail("other", "Closure use is not currently supported if GradScaler is enabled.")
        self._check_used("step")
        progress = self._progress.setdefault(id(optimizer), _Progress())
        if progress.stepped:
            raise fail("other", "step() has already been called since the last update().")
        if progress.found_inf is None:
            self.unscale_(optimizer)
        if progress.found_inf is None:
            raise fail("other", "No inf checks were recorded for this optimizer.", AssertionError)
        progress.stepped = True
        return None if progress.found_inf else optimizer.step(*args, **kwargs)

    def update(self, new_scale: Any = None) -> None:
        """Lower the scale if a gradient was not finite, raise it after enough steps in which all were; or set it."""
        if not self._enabled:
            return
        self._check_used("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            found = [one.found_inf for one in self._progress.values() if one.found_inf is not None]
            if not found:
                raise fail("other", "No inf checks were recorded prior to update.", AssertionError)
            self._grow(any(found))
        self._progress.clear()

    def _grow(self, found_inf: bool) -> None:
        if found_inf:
            self._scale = float(np.float32(self._scale * self._backoff_factor))
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            grown = float(np.float32(self._scale * self._growth_factor))
            self._scale = grown if np.isfinite(grown) else self._scale
            self._growth_tracker = 0

    def get_scale(self) -> float:
        """Return the scale, 1.0 where scaling is disabled."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Return whether scaling is enabled."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """Return what the scale is multiplied with when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied with when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return what the scale is multiplied with after gradients that are not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied with after gradients that are not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return after how many steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many steps the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, object]:
        """Return the state by PyTorch's names; an empty dictionary where scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state that `state_dict` returned. Raises RuntimeError for an empty one."""
        if not self._enabled:
            return
        if not state_dict:
            message = (
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
            raise fail("value", message)
        self._scale = state_dict["scale"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]


class CpuGradScaler(GradScaler):
    """The scaler for the CPU by its older name."""

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5, growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("torch.cpu.amp.GradScaler", "torch.amp.GradScaler('cpu', args...)")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
