"""Functions of PyTorch's that are replaced while a watcher is on, and put back at its end."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

is_compiling = torch.compiler.is_dynamo_compiling


class Replaced:
    """The functions that one part of a watcher has replaced."""

    def __init__(self) -> None:
        self._originals: list[tuple[object, str, object]] = []
        self._scripted: list[int] = []

    def put(self, owner: object, name: str, how: Callable[[Any], Any]) -> None:
        """Put `how(function)` in the place of a function.

        `torch.jit.script` finds the function as before. `torch.compile` goes through what stands in its place: that begins by
        calling the function alone where `is_compiling()`.
        """
        function = getattr(owner, name)
        fresh = functools.wraps(function)(how(function))
        self._originals.append((owner, name, vars(owner).get(name)))
        setattr(owner, name, fresh)
        operator = _scripted().get(id(function))
        if operator is not None:
            _scripted()[id(fresh)] = operator
            self._scripted.append(id(fresh))

    def has(self, owner: object, name: str) -> bool:
        """Whether a function is replaced."""
        return any(one is owner and known == name for one, known, _ in self._originals)

    def put_back(self) -> None:
        """Put back what was there."""
        for owner, name, original in reversed(self._originals):
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        rules = sys.modules.get("torch._dynamo.trace_rules")
        if self._originals and rules is not None:
            rules.clear_lru_cache()  # which knows functions by what their names stood for when it was made
        for key in self._scripted:
            _scripted().pop(key, None)
        self._originals.clear()
        self._scripted.clear()


def _scripted() -> dict[int, str]:
    """Return the operators that `torch.jit.script` finds by the ids of functions."""
    return torch.jit._builtins._get_builtin_table()  # type: ignore[no-any-return]
