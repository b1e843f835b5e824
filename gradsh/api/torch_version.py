"""`torch.__version__`: a text that compares as a version."""

import re
from collections.abc import Callable, Iterable
from operator import eq, ge, gt, le, lt
from typing import Any

from gradsh.api.homes import settle
from gradsh.version import PYTORCH_VERSION

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)[-_.]?((?:a|b|c|rc|alpha|beta|pre|dev)[-_.]?\d*)?(?:\+(\w[\w.]*))?", re.IGNORECASE)


def _parts(version: object) -> tuple[object, ...] | None:
    """Return what orders versions: the numbers without zeros at the end, whether it is a release, and its build."""
    text = version if isinstance(version, str) or not isinstance(version, Iterable) else ".".join(map(str, version))
    found = _VERSION.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        return None
    numbers = [int(one) for one in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), not found[2], found[3] or ""


def _compare(operator: Callable[[Any, Any], bool]) -> Any:
    """Return the method that compares as versions, or as texts where the other is no version."""

    def compare(self: str, other: object) -> bool:
        own, others = _parts(self), _parts(other)
        return operator(str(self), other) if own is None or others is None else operator(own, others)

    return compare


class TorchVersion(str):
    """A version: `torch.__version__ >= "1.8"` and `> (1, 8)` compare numbers."""

    __slots__ = ()
    __script_attributes__ = frozenset(name for name in dir(str) if name[0] != "_")
    __hash__ = str.__hash__
    __eq__, __lt__, __le__, __gt__, __ge__ = map(_compare, (eq, lt, le, gt, ge))


settle(TorchVersion)
TORCH_VERSION = TorchVersion(f"{PYTORCH_VERSION}+cpu")
