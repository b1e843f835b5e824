"""Kernels that may take minutes, run so that a limit or an interrupt can end the wait for them.

A tensor may have far more elements than memory has numbers (`expand`), and numpy cannot be stopped while it goes through them.
It lets other threads work meanwhile: so such a kernel runs in a thread, and who waits looks up now and then. What nobody waits
for any more goes on until it is done, and takes a core, but no memory worth speaking of.
"""

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.engine.ambient import current

HUGE = 1 << 28
"""Elements from which a kernel is not waited for blindly: about 0.1 s."""
_LOOK = 0.02
"""Seconds between two looks."""


LARGE = 1 << 18
"""Elements from which a kernel is not waited for blindly that takes longer than in proportion to their number."""
SUPERLINEAR = frozenset({f"gradsh.ops.{family}" for family in ("decompose", "linalg", "linear_solve", "sort", "unique")})
"""The families of such kernels: decompositions, systems, sorting."""


def cancellable_from(kernel: Callable[..., object]) -> int:
    """Return the number of elements beyond which a kernel is not waited for blindly."""
    return LARGE if getattr(kernel, "__module__", "") in SUPERLINEAR else HUGE  # a ufunc of an older numpy has none


def run_kernel(kernel: Callable[..., Any], arguments: list[Any]) -> Any:
    """Run a kernel on its arguments; one that may take long can be ended."""
    check = current().check
    if check is not None and is_long(kernel, arguments):
        return run_cancellable(kernel, arguments, check)
    return kernel(*arguments)


def is_long(kernel: Callable[..., object], arguments: list[object]) -> bool:
    """Whether any of a kernel's arguments has more elements than that."""
    most = cancellable_from(kernel)
    return any(type(one) is np.ndarray and one.size > most for one in arguments)


def run_cancellable(kernel: Callable[..., object], arguments: list[object], check: Callable[[int], None]) -> object:
    """Return what the kernel returns, or raise what it raises or what `check` raises meanwhile."""
    import threading  # which a small script does not need

    found: list[Any] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            found.append(kernel(*arguments))
        except BaseException as error:  # noqa: BLE001  (raised again by who waits)
            failed.append(error)
        done.set()

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="gradsh kernel", daemon=True).start()
    while not done.wait(_LOOK):
        check(0)
    if failed:
        raise failed[0]
    return found[0]
