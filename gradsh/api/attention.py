"""torch.nn.attention: which ways of computing attention are allowed."""

import enum
from collections.abc import Iterator
from contextlib import contextmanager

from gradsh.engine.ambient import current
from gradsh.ops.attention import ALLOWED
from gradsh.text.fault import fail


class SDPBackend(enum.Enum):
    """The ways of computing attention; on the CPU there are two, MATH (operations) and FLASH_ATTENTION (one node)."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return int(self.value)


@contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[object, object]]:
    """Allow only these ways of computing attention inside the block; which one is tried first is the same for all orders."""
    del set_priority
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, list):
        found = type(chosen).__name__
        message = f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {found}"
        raise fail("type", message, AssertionError)
    before = current().flags.get(ALLOWED)
    current().flags[ALLOWED] = frozenset(one.name for one in chosen)
    try:
        yield {}
    finally:
        current().flags[ALLOWED] = before
