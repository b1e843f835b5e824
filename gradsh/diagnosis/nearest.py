"""What a person may have meant by a name that does not exist: the nearest names, also across namespaces."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gradsh.api.torch import NAMESPACES

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

_ELSEWHERE = (
    "torch", "torch.nn.functional", "torch.nn", "torch.optim", "torch.autograd", "torch.linalg", "torch.nn.init",
    "torch.nn.utils", "torch.utils.data", "torch.optim.lr_scheduler", "torch.special", "torch.autograd.functional",
)


def near(name: str, candidates: Iterable[str], most: int = 2) -> list[str]:
    """Return the candidates most like `name`, best first; one that differs only in case or underscores comes first."""
    from difflib import get_close_matches

    pool = list(candidates)
    same = [one for one in pool if _plain(one) == _plain(name) and one != name]
    alike = get_close_matches(name, pool, 3 * most, 0.72) or get_close_matches(name.lower(), pool, most, 0.72)
    typed = [one for one in pool if one not in alike and _one_slip(name, one)]
    found = [*same, *sorted([*alike, *typed], key=lambda one: not _one_slip(name, one))]
    return list(dict.fromkeys(found))[:most]


def _one_slip(name: str, other: str) -> bool:
    """Tell whether two names of three letters or more differ by one letter more, less, other, or two exchanged."""
    if abs(len(name) - len(other)) > 1 or min(len(name), len(other)) < 3:
        return False
    start = next((place for place, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    a, b = name[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def elsewhere(name: str, besides: str = "") -> list[str]:
    """Return where else in PyTorch's namespaces exactly this name exists, in full."""
    return [
        f"{path}.{name}" for path in _ELSEWHERE if path != besides and path in NAMESPACES and name in NAMESPACES[path]
    ]


def similar_elsewhere(name: str) -> list[str]:
    """Return full names in PyTorch's namespaces that differ from `name` only in case or underscores."""
    return [
        f"{path}.{one}" for path in _ELSEWHERE[:4] if path in NAMESPACES
        for one in NAMESPACES[path].names() if _plain(one) == _plain(name)
    ]


def for_name(machine: "Machine", name: str, local: Iterable[str]) -> list[str]:
    """Return what an unknown name may have meant: names of the program first, then those offered, then elsewhere."""
    mine = near(name, [*local, *machine.variables()])
    return mine or near(name, machine.offer.bare_names()) or elsewhere(name)[:2]


def for_attribute(machine: "Machine", owner: object, name: str) -> list[str]:
    """Return what an unknown attribute may have meant, on the owner itself or in another namespace."""
    if isinstance(owner, machine.guard.namespaces):
        besides = owner.name
        if besides == "numpy" and name in {"bool", "complex", "float", "int", "object", "str"}:
            return [name]  # numpy's names for Python's types are gone
        found = elsewhere(name, besides)[:2] or [f"{besides}.{one}" for one in near(name, owner.names(), 3)]
        return found or similar_elsewhere(name)[:2]
    return near(name, machine.guard.names(owner))
