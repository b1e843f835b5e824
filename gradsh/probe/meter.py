"""How the bytes went over a run: one account after each top-level statement, and the peak, also inside loops.

Taking an account walks what is alive, so accounts before backward passes (where a graph is at its largest) are taken by
a rule that depends on the program alone, not on the clock: each pass earns credit, and a walk spends what it visited.
Where a person types, a tally follows the graphs, so that a walk visits only what is new.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gradsh.engine.graph.node import Node
from gradsh.engine.values.storage import memory_bytes, memory_key
from gradsh.probe.accounts import Account, account_of, take_account
from gradsh.probe.names import named_tensors, roots_among
from gradsh.probe.tally import Tally

_EARNED = 400
_MOST_SAMPLES = 4000
_NAMED = 6
_MANY = 1000
"""Tensors that a statement's end looks at, each time."""


class Sample(NamedTuple):
    """An account at a line; `inside` tells that it was taken before a backward pass, not at a statement's end."""

    line: int
    account: Account
    inside: bool


class Peak(NamedTuple):
    """The account with the most bytes, its line, and the largest memories that variables held then: (name, bytes)."""

    line: int
    account: Account
    held: tuple[tuple[str, int], ...]


class Meter:
    """Follows the bytes of one session; with a `tally` what is alive, too."""

    __slots__ = ("credit", "peak", "peak_saved", "samples", "tally", "tensors")

    def __init__(self, tally: Tally | None = None) -> None:
        self.tally = tally
        self.tensors = 0
        """how many tensors the variables led to at the latest sample"""
        self.samples: list[Sample] = []
        self.peak: Peak | None = None
        self.peak_saved = 0
        self.credit = 100_000

    def due(self) -> bool:
        """Whether another account, at a statement's end or inside it, is worth its walk."""
        self.credit += _EARNED
        return self.credit > 0

    def due_after(self) -> bool:
        """Whether an account is taken at a statement's end: with a tally always, unless variables lead to very many tensors."""
        return self.due() or (self.tally is not None and self.tensors < _MANY)

    def sample(self, variables: Mapping[str, object], line: int, more: Iterable[Node], inside: bool = True) -> Account:
        """Take an account now; `autograd_meta` are roots of graphs that no variable holds."""
        account, visited = self._account(variables, more)
        self.credit -= visited
        if not inside or self._is_peak(account):
            self.samples.append(Sample(line, account, inside))
        if len(self.samples) > _MOST_SAMPLES:
            del self.samples[1:-1:2]
        if self._is_peak(account):
            self.peak = Peak(line, account, _largest(variables))
        self.peak_saved = max(self.peak_saved, account.saved)
        return account

    def freed(self, nodes: Iterable[Node], *, back: bool = False) -> None:
        """Take note that what these nodes saved may have been freed, or (`back`) was put back."""
        if self.tally is not None:
            self.tally.again(nodes, back=back)

    def _account(self, variables: Mapping[str, object], more: Iterable[Node]) -> tuple[Account, int]:
        """Return an account and how many values and nodes were visited for it."""
        looked: list[int] = []
        if self.tally is None:
            account = take_account(variables, more, looked)
            return account, sum(looked) + account.nodes
        named = list(named_tensors(variables, looked))
        visited = sum(looked) + self.tally.follow([*(node for _, node in roots_among(named)), *more])
        self.tensors = len({id(tensor) for _, tensor in named})
        tensors = (tensor for _, tensor in named)
        return account_of(tensors, self.tally.sizes, self.tally.nbytes, self.tally.nodes), visited

    def _is_peak(self, account: Account) -> bool:
        return self.peak is None or account.total > self.peak.account.total


def _largest(variables: Mapping[str, object]) -> tuple[tuple[str, int], ...]:
    sizes: dict[int, tuple[str, int]] = {}
    for path, tensor in named_tensors(variables):
        sizes.setdefault(memory_key(tensor.array), (path, memory_bytes(tensor.array)))
        if tensor.meta is not None and tensor.meta.grad is not None:
            grad = tensor.meta.grad.array
            sizes.setdefault(memory_key(grad), (f"{path}.grad", memory_bytes(grad)))
    return tuple(sorted(sizes.values(), key=lambda one: -one[1])[:_NAMED])
