"""What a running program holds, sample by sample: bytes by owner, what an iteration adds, the largest saved tensors, gradient norms.

A sample is numbers and words: it keeps no tensor and no node alive.
"""

import time
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from heapq import nlargest
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from gradsh.engine.graph.node import Node
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.storage import memory_key
from gradsh.probe.accounts import Account
from gradsh.probe.meter import Meter
from gradsh.probe.names import Names, named_tensors, of_program
from gradsh.probe.passes import live_entries
from gradsh.probe.snapshot import node_name

_LISTED = 20
"""Places and gradients of a report."""
_KEPT = 64
"""Samples from which growth is told."""
_RECENT = 8
"""Latest samples of which the one with the most bytes is shown: a program with several backwards is at its largest in one of them."""


class LargeSaved(NamedTuple):
    """Memories of one size that nodes of one kind, made at one place, saved: one of these saved tensors, how many, their bytes.

    `held_by` are the names that hold the memory of that one.
    """

    saved: str
    shape: tuple[int, ...]
    number: int
    nbytes: int
    held_by: tuple[str, ...]
    line: int | None


class GradientNorm(NamedTuple):
    """The gradient of a leaf: its norm and the largest absolute value of an element."""

    leaf: str
    norm: float
    largest: float


class Growth(NamedTuple):
    """What an iteration adds, on average over `iterations` of them: bytes by owner, and nodes."""

    leaves: float
    gradients: float
    variables: float
    graph: float
    total: float
    nodes: float
    iterations: int


class TopReport(NamedTuple):
    """A sample. `line` and `iteration` say where it was taken, `rate` is iterations a second, `peak` the most bytes so far.

    `growth` and `rate` are None where fewer than two iterations have been seen; `norm` is that of all gradients.
    """

    now: Account
    peak: int
    growth: Growth | None
    largest: tuple[LargeSaved, ...]
    norm: float | None
    gradients: tuple[GradientNorm, ...]
    line: int | None = None
    iteration: int = 0
    rate: float | None = None


class _Sample(NamedTuple):
    """An account, and where it was taken: at which place of the program (`phase`), for the how manieth time, when."""

    phase: Hashable
    number: int
    at: float
    line: int | None
    account: Account
    largest: tuple[LargeSaved, ...]


class TopSampler:
    """Takes samples, and tells the latest with what has grown between those of the same place."""

    def __init__(self, meter: Meter, line_of: LineOf) -> None:
        self.meter = meter
        self.line_of = line_of
        self.samples: deque[_Sample] = deque(maxlen=_KEPT)
        self.gradients: tuple[GradientNorm, ...] = ()

    def take(
        self, variables: Mapping[str, object], line: int | None, roots: Iterable[Node] = (), phase: Hashable = None, number: int = 0,
    ) -> None:
        """Take a sample; `roots` are those of graphs that no variable holds."""
        account = self.meter.sample(variables, line or 0, roots)
        self.samples.append(_Sample(phase, number, time.monotonic(), line, account, self._largest(Names(variables))))

    def note_gradients(self, variables: Mapping[str, object]) -> None:
        """Look at the gradients that the program's leaves have now."""
        self.gradients = gradient_norms(variables)

    def report(self) -> TopReport:
        """Return the largest of the latest samples as data."""
        one = max(list(self.samples)[: -_RECENT - 1 : -1], key=lambda sample: sample.account.total)
        # what the first iteration adds (gradients, an optimizer's state) comes once
        alike = [sample for sample in self.samples if sample.phase == one.phase and sample.number > 1]
        growth = rate = None
        if len(alike) > 1 and alike[-1].number > alike[0].number:
            first, last = alike[0], alike[-1]
            iterations = last.number - first.number
            growth = _growth(first.account, last.account, iterations)
            rate = iterations / max(last.at - first.at, 1e-9)
        norm = float(np.linalg.norm([each.norm for each in self.gradients])) if self.gradients else None
        peak = 0 if self.meter.peak is None else self.meter.peak.account.total
        shown = sorted(self.gradients, key=lambda each: (-each.norm if each.norm == each.norm else -np.inf, each.leaf))
        return TopReport(one.account, peak, growth, one.largest, norm, tuple(shown[:_LISTED]), one.line, one.number, rate)

    def _largest(self, names: Names) -> tuple[LargeSaved, ...]:
        """Return the places that saved the most bytes."""
        assert self.meter.tally is not None
        groups: dict[Hashable, list[Any]] = {}
        for node, memory, size in self.meter.tally.memories():
            where = node.location
            key = node_name(node), size, None if where is None else (where[1], where[2])
            group = groups.get(key)
            if group is None:
                groups[key] = [size, 1, node, memory]
            else:
                group[0] += size
                group[1] += 1
        return tuple(self._large(group, names) for group in nlargest(_LISTED, groups.values(), key=itemgetter(0)))

    def _large(self, group: list[Any], names: Names) -> LargeSaved:
        nbytes, number, node, memory = group
        title, shape = next(
            ((name, array.shape) for name, array, _ in live_entries(node) if array is not None and memory_key(array) == memory), ("", ()),
        )
        saved = f"{node_name(node)}.{title}" if title else node_name(node) or ""
        return LargeSaved(saved, tuple(shape), number, nbytes, names.of_memory(memory), self.line_of(node.location))


def _growth(first: Account, last: Account, iterations: int) -> Growth:
    def added(field: str) -> float:
        return float((getattr(last, field) - getattr(first, field)) / iterations)

    return Growth(
        added("leaves"), added("gradients"), added("variables"), added("graph"), added("total"), added("nodes"), iterations,
    )


def gradient_norms(variables: Mapping[str, object]) -> tuple[GradientNorm, ...]:
    """Return the norm of the gradient of each leaf that has one."""
    found: dict[int, GradientNorm] = {}
    for name, leaf in of_program(named_tensors(variables)):
        grad = None if leaf.meta is None or leaf.edge is not None else leaf.meta.grad
        if grad is not None and id(leaf) not in found and grad.array.size:
            sizes = np.abs(grad.array.ravel()).astype(np.float64, copy=False)
            found[id(leaf)] = GradientNorm(name, float(np.linalg.norm(sizes)), float(sizes.max()))
    return tuple(found.values())
