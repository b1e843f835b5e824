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
_BREATH = 0.2
"""Seconds for which a backward that does not stop goes on before the screen is drawn again and keys are read."""


class BrowsedPass:
    """Stops a backward after a node until an order comes. `lock` is held while nodes run, so that nobody draws what they change."""

    def __init__(self, lock: Lock, changed: Callable[[list[Node]], None]) -> None:
        self.lock = lock
        self.changed = changed
        """Told of the nodes that have run since it was told last; of none: the backward was taken back."""
        self.orders: Queue[str] = Queue()
        self.running = self.over = self.playing = False
        self.step: Step | None = None
        self.node: Node | None = None
        self.goal = 0
        """Sequence number of the node up to which it goes on, if it is to."""
        self._skipped = 0
        self._free = False
        self._unseen: list[Node] = []
        self._breathed = 0.0

    def order(self, what: str) -> None:
        """Say how to go on: step, play, back, rest, abort, goal."""
        if self.running:
            self.orders.put(what)

    def begin(self, shown: int) -> None:
        """Begin anew, up to the step of that number without a stop."""
        self._skipped, self._free, self.goal, self.over = shown, False, 0, False
        self._unseen = []
        self.changed([])

    def __call__(self, recorder: StepRecorder) -> None:
        """Take a step that has just been done; return when the next one may run."""
        self.step, self.node = recorder.steps[-1], recorder.latest
        if self.step.number < self._skipped:
            return
        if self.step.number == self._skipped:  # those before it ran again without a word
            self.changed([])
        self._unseen += [self.node] if self.node is not None else []
        if self._goes_on():
            self._breathe()
            return
        self._tell()
        self._free, self.goal = False, 0
        self.lock.release()
        try:
            while not self._follow(self._next()):
                pass
        finally:
            self.lock.acquire()

    def _goes_on(self) -> bool:
        return not self.over and (self._free or (self.node is not None and self.node.seq > self.goal > 0))

    def _breathe(self) -> None:
        """Let the screen be drawn now and then, and a key stop what goes on."""
        if time.monotonic() - self._breathed > _BREATH:
            self._tell()
            self.lock.release()
            time.sleep(_BREATH / 40)
            self.lock.acquire()
            self._breathed = time.monotonic()
            if not self.orders.empty() and self._next() == "abort":
                raise TakeBack(None)

    def _tell(self) -> None:
        unseen, self._unseen = self._unseen, []
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
        number = self.step.number if self.step is not None else 1
        self.playing = self.playing != (order == "play") if order in {"play", "step"} else False
        if order == "abort":
            raise TakeBack(None)
        if order == "back" and number > 1:
            raise TakeBack(number - 1)
        if self.over:
            self.playing = False
            return False
        self._free = order == "rest"
        return order in {"step", "rest", "goal"}
