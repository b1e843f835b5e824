"""Settings of PyTorch's that choose among its kernels: a program reads back what it set, and no number here depends on them."""

from gradsh.engine.ambient import current
from gradsh.text.fault import fail

_TF32 = "torch.backends.cuda.matmul.allow_tf32"
_PRECISION, _DETERMINISTIC = "float32_matmul_precision", "deterministic_debug_mode"
_PRECISIONS = ("highest", "high", "medium")
_MODES = ("default", "warn", "error")


def set_float32_matmul_precision(precision: str) -> None:
    """Choose "highest", "high" or "medium" for products on a GPU; others are told and change nothing."""
    if not isinstance(precision, str):
        raise fail("type", f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in _PRECISIONS:
        known = "'highest', 'high', or 'medium'"
        current().warning(f"{precision} is not one of {known}; the currentsetFloat32MatmulPrecision call has no effect.")
        return
    current().flags.update({_PRECISION: precision, _TF32: precision != "highest"})


def get_float32_matmul_precision() -> str:
    """Return what was chosen, or "highest"."""
    return current().flags.get(_PRECISION, "highest")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic kernels; all are, here."""
    if type(mode) is not bool:
        message = f"_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not {type(mode).__name__}"
        raise fail("type", message, TypeError)
    current().flags[_DETERMINISTIC] = mode and 2 - bool(warn_only)


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Ask for deterministic kernels by a number or a word: 0 "default", 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise fail("type", f"debug_mode must be str or int, but got {type(debug_mode)}", TypeError)
    known, listed = (_MODES, "`default`, `warn`, `error`") if isinstance(debug_mode, str) else (range(3), "0, 1, or 2")
    if debug_mode not in known:
        one_of = "one of " if isinstance(debug_mode, str) else ""
        raise fail("value", f"invalid value of debug_mode, expected {one_of}{listed}, but got {debug_mode}")
    current().flags[_DETERMINISTIC] = known.index(debug_mode)  # type: ignore[arg-type]


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 (warn) or 2 (error)."""
    return int(current().flags.get(_DETERMINISTIC, 0))


def are_deterministic_algorithms_enabled() -> bool:
    """Return whether the program asked for them."""
    return get_deterministic_debug_mode() > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return whether the program asked for warnings instead of errors."""
    return get_deterministic_debug_mode() == 1
