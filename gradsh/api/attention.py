"""torch.nn.attention: which ways of computing attention are allowed."""

import enum
from contextlib import ContextDecorator
from typing import Any

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


class sdpa_kernel(ContextDecorator):
    """Allow only these ways of computing attention inside the block; which one is tried first is the same for all orders."""

    __module__ = "torch.nn.attention"

    __script_attributes__ = frozenset({"__enter__", "__exit__"})

    def __init__(self, backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> None:
        del set_priority
        self._chosen = [backends] if isinstance(backends, SDPBackend) else backends
        self._before: list[Any] = []

    def __enter__(self) -> dict[object, object]:
        if not isinstance(self._chosen, list):
            found = type(self._chosen).__name__
            message = f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {found}"
            raise fail("type", message, AssertionError)
        flags = current().flags
        self._before.append(flags.get(ALLOWED))
        flags[ALLOWED] = frozenset(one.name for one in self._chosen)
        return {}

    def __exit__(self, *error: object) -> None:
        current().flags[ALLOWED] = self._before.pop()
