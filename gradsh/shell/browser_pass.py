"""The backward that is run on the screen of `browse`: the main thread runs it and waits here after a node; keys say how to go on."""

import time
from collections.abc import Callable
from queue import Empty, Queue
from threading import Lock

from gradsh.commands.walking import TakeBack
from gradsh.engine.graph.node import Node
from gradsh.probe.walk import Step, StepRecorder

PACE = 0.15
"""Seconds for which a node is shown while a backward is played."""
STOP = -1
"""The goal of a backward that stops after the next node."""
_BREATH = 0.2
"""Seconds for which a backward that does not stop goes on before the screen is drawn again and keys are read."""
_SHARE = 5
"""A backward goes on for so many times as long as the screen took, at least."""


class BrowsedPass:
    """Stops a backward after a node until an order comes. `lock` is held while nodes run, so that nobody draws what they change."""

    def __init__(self, lock: Lock, changed: Callable[[list[Node]], None]) -> None:
        self.lock = lock
        self.changed = changed
        """Told of the nodes that have run, or were taken back, since it was told last; of none: all were taken back."""
        self.orders: Queue[str] = Queue()
        self.running = self.over = self.playing = False
        self.step: Step | None = None
        """The node after which it stands; None while it goes on"""
        self.node: Node | None = None
        self.number = 0
        """How many nodes have run"""
        self.goal = STOP
        """Sequence number of the node up to which it goes on"""
        self.last = 0
        """That of the node that runs last"""
        self._skipped = 0
        self._ran: list[Node] = []
        self._seen = 0
        """How many of those that have run `changed` was told of"""
        self._breath = 0.0
        """When it stops next to let the screen be drawn"""

    def order(self, what: str) -> None:
        """Say how to go on: step, play, back, rest, abort, goal."""
        if self.running:
            self.orders.put(what)

    def begin(self, shown: int) -> None:
        """Begin anew, up to the step of that number without a stop."""
        self._skipped, self.goal, self.over, self.step, self.number = shown, STOP, False, None, 0
        known = max(shown - 1, 0)  # where it stops, it is told of the node
        back, self._ran = self._ran[known:], self._ran[:known]
        self._seen = known
        self.changed(back if known else [])

    def skips(self, node: Node, number: int) -> bool:
        """Whether a node lies before the one at which it stops next."""
        return number < self._skipped or self._goes_on(node)

    def _goes_on(self, node: Node | None) -> bool:
        return node is not None and node.seq > self.goal > STOP

    def __call__(self, recorder: StepRecorder) -> None:
        """Take a step that has just been done; return when the next one may run."""
        self.step, self.node, self.number = None, recorder.latest, recorder.number
        if self.number > len(self._ran) and self.node is not None:
            self._ran.append(self.node)
        if not self.over and (self.number < self._skipped or self._goes_on(self.node)):
            self._breathe()
            return
        self.step, self.goal = recorder.step(), STOP
        self._tell()
        self.lock.release()
        try:
            while not self._follow(self._next()):
                pass
        finally:
            self.lock.acquire()

    def _breathe(self) -> None:
        """Let the screen be drawn now and then, and a key stop what goes on."""
        begun = time.monotonic()
        if begun > self._breath:
            self._tell()
            self.lock.release()
            time.sleep(_BREATH / 40)
            self.lock.acquire()
            now = time.monotonic()
            self._breath = now + max(_BREATH, _SHARE * (now - begun))
            if not self.orders.empty() and self._next() == "abort":
                raise TakeBack(None)

    def _tell(self) -> None:
        unseen, self._seen = self._ran[self._seen :], len(self._ran)
        if unseen:
            self.changed(unseen)

    def _next(self) -> str:
        """Return the next order; while the backward is played, a step where none comes."""
        try:
            return self.orders.get(timeout=PACE if self.playing else None)
        except Empty:
            return "step"

    def _follow(self, order: str) -> bool:
        """Follow an order; return whether that lets the backward go on."""
        self.playing = self.playing != (order == "play") if order in {"play", "step"} else False
        if order == "abort":
            raise TakeBack(None)
        if order == "back" and self.number > 1:
            raise TakeBack(self.number - 1)
        if self.over:
            self.playing = False
            return False
        if order == "rest":
            self.goal = self.last
        return order in {"step", "rest", "goal"}
