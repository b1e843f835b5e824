"""The story of memory that ran out: what was asked for, who holds what, and what would let it go."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gradsh.diagnosis.fixes_freed import amount
from gradsh.probe.accounts import saved_memories, take_account
from gradsh.probe.names import named_tensors, roots_among

if TYPE_CHECKING:
    from gradsh.diagnosis.case import Case

MOST = 3
"""Variables that are named, those that hold most first."""


def explain_memory(case: "Case") -> None:
    """Say what was asked for and what is held by whom; add the ways to hold less."""
    if isinstance(case.error, MemoryError):  # numpy's words; those of an allocation of our own are PyTorch's
        case.message = f"out of memory: {case.message}"
    with suppress(MemoryError):  # telling takes memory, too
        variables = _variables(case)
        account = take_account(variables)
        parts = {
            "leaves": account.leaves, "gradients": account.gradients, "variables": account.variables,
            f"graphs alone ({account.nodes:,} nodes)": account.graph,
        }
        held = ", ".join(f"{amount(size)} by {name}" for name, size in parts.items() if size)
        if held:
            case.notes.append(f"held now: {held}; {amount(account.saved)} of it is saved for backward")
        keepers = _keepers(variables)
        if keepers:
            named = ", ".join(f"{name} ({amount(size)})" for size, name in keepers)
            case.notes.append(f"the variables that keep most of it: {named}")
            case.help.append(f"store values without their graph in {keepers[0][1]}: `.detach()`, or `.item()` for a number")
            case.help.append("use `with torch.no_grad():` where no backward follows")
    case.help.append("`memory` shows who holds memory, `leaks` what grows; `--max-memory SIZE` sets the limit")
    case.failed()


def _variables(case: "Case") -> dict[str, object]:
    """Return the program's variables, and those of the functions that were running."""
    found: dict[str, Any] = dict(case.machine.variables())
    for frame in case.origins.frames:
        found.update(frame.local or {})
    return found


def _keepers(variables: Mapping[str, object]) -> list[tuple[int, str]]:
    """Return (bytes saved for backward, name) of the variables whose graphs hold most."""
    sizes = []
    for name, value in variables.items():
        nodes = [node for _, node in roots_among(list(named_tensors({name: value})))]
        size = sum(saved_memories(nodes)[0].values()) if nodes else 0
        if size:
            sizes.append((size, name))
    return sorted(sizes, reverse=True)[:MOST]
