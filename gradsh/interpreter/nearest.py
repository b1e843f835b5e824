"""What a person may have meant by a name that does not exist: the nearest names, also across namespaces."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradsh.interpreter.machine import Machine

_ELSEWHERE = (
    "torch", "torch.nn.functional", "torch.nn", "torch.optim", "torch.autograd", "torch.linalg", "torch.nn.init",
    "torch.nn.utils", "torch.utils.data", "torch.optim.lr_scheduler", "torch.special", "torch.autograd.functional",
)


def near(name: str, candidates: Iterable[str], most: int = 2) -> list[str]:
    """Return the candidates most like `name`, best first; one that differs only in case or underscores comes first."""
    from difflib import get_close_matches

    pool = list(candidates)
    same = [one for one in pool if _plain(one) == _plain(name) and one != name]
    found = [*same, *get_close_matches(name, pool, most, 0.72)]
    return list(dict.fromkeys(found))[:most]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def elsewhere(name: str, besides: str = "") -> list[str]:
    """Return where else in PyTorch's namespaces exactly this name exists, in full."""
    from gradsh.api.torch import NAMESPACES

    return [
        f"{path}.{name}" for path in _ELSEWHERE if path != besides and path in NAMESPACES and name in NAMESPACES[path]
    ]


def similar_elsewhere(name: str) -> list[str]:
    """Return full names in PyTorch's namespaces that differ from `name` only in case or underscores."""
    from gradsh.api.torch import NAMESPACES

    return [
        f"{path}.{one}" for path in _ELSEWHERE[:4] if path in NAMESPACES
        for one in NAMESPACES[path].names() if _plain(one) == _plain(name)
    ]


def for_name(machine: "Machine", name: str, local: Iterable[str]) -> list[str]:
    """Return what an unknown name may have meant: names of the program first, then those offered, then elsewhere."""
    mine = near(name, [*local, *machine.variables()])
    return mine or near(name, machine.offer.bare_names()) or elsewhere(name)[:2]


def for_attribute(machine: "Machine", owner: Any, name: str) -> list[str]:
    """Return what an unknown attribute may have meant, on the owner itself or in another namespace."""
    if isinstance(owner, machine.guard.namespaces):
        besides = owner.name
        found = elsewhere(name, besides)[:2] or [f"{besides}.{one}" for one in near(name, owner.names())]
        return found or similar_elsewhere(name)[:2]
    return near(name, machine.guard.names(owner))
