"""`gradsh run --top` and `set top on`: samples of a running program, in a pane below its output; at the end the last one as a table.

Samples are taken in the program's own thread, where it stands between two steps: when a backward begins, else at the next iteration
or call. At most ten are taken a second, and fewer where one takes long, so that they cost at most a part in `_SHARE` of the time.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gradsh.commands.top import view
from gradsh.contracts.events import ErrorOutput, Event, Note, Print, Result, Value, Warn
from gradsh.probe.meter import Meter
from gradsh.probe.tally import Tally
from gradsh.probe.top import TopSampler
from gradsh.process.pace import is_redrawn
from gradsh.render.style import Style, printable, style_for
from gradsh.render.text import lines_of
from gradsh.run.pane import Pane

if TYPE_CHECKING:
    from gradsh.run.sinks import Sink
    from gradsh.session.session import Session

PACE = 0.1
"""Seconds between two samples, and two drawings, at the least."""
IDLE, LONG = 0.3, 2.0
"""Seconds without a backward after which a sample is taken at an iteration or a call: twice those between the last two, within these."""
SOON = 0.3
"""Seconds for which a program runs before a pane appears: what ends sooner is not worth one."""
_SHARE = 40
_SPARE = 5
"""Rows of the terminal that are left to the program's output."""
_PARTS = 1000
"""Parts of a line without an end that are held back."""
_HELD = (Print, ErrorOutput, Value, Warn, Note)
"""Events that may wait for the next drawing; all others are told at once."""


class Screen:
    """Takes a program's events: they scroll above the pane, at most ten times a second; an unfinished line is the pane's first."""

    def __init__(self, sink: "Sink", pane: Pane, style: Style) -> None:
        self.sink = sink
        self.pane = pane
        self.style = style
        self.lines: list[str] = []
        self.lock = threading.RLock()
        self._waiting: list[Event] = []
        self._begun: list[Print | ErrorOutput] = []
        """What was printed of a line that has not ended"""
        self._drawn = 0.0

    def __call__(self, event: Event) -> None:
        """Take an event."""
        with self.lock:
            self._waiting.append(event)
            if type(event) not in _HELD or time.monotonic() - self._drawn >= PACE:
                self.flush()

    def flush(self) -> None:
        """Write what waits above the pane, and draw the pane again."""
        with self.lock:
            if self._waiting:
                self._write()
            self.draw()

    def show(self, lines: list[str]) -> None:
        """Draw other lines."""
        with self.lock:
            self.lines = lines
            self.flush()

    def draw(self) -> None:
        """Draw the pane."""
        self._drawn = time.monotonic()
        if self.lines:
            size = self.pane.size()
            begun = printable("".join(event.text for event in self._begun).rpartition("\r")[2])[: size.columns - 1]
            self.pane.draw([*([begun] if begun else []), *self.lines][: size.lines - 1])

    def _write(self) -> None:
        self.pane.erase()
        waiting, self._waiting = self._waiting, []
        for event in waiting:
            self._tell(event)
        self.sink.relay("", "")

    def _tell(self, event: Event) -> None:
        """Write an event; of a line that has not ended nothing, so that the pane never stands behind half of one."""
        if not isinstance(event, (Print, ErrorOutput)):
            self._finish()
            self.sink(event)
            return
        text = event.text + "\n" * (type(event) is Print and event.newline)
        done, end, rest = text.rpartition("\n")
        if end:
            self._finish()
            self.sink(event._replace(text=done, newline=True) if type(event) is Print else ErrorOutput(done + end))
        if rest:
            self._begun.append(Print(rest, False) if type(event) is Print else ErrorOutput(rest))
        if len(self._begun) > _PARTS:
            self._finish()

    def _finish(self) -> None:
        """Write what there is of a line that has not ended."""
        begun, self._begun = self._begun, []
        for event in begun:
            self.sink(event)

    def close(self) -> None:
        """Take the pane away and write what is left."""
        with self.lock:
            self.pane.erase()
            self.lines = []
            self._write()
            self._finish()


class TopWatch:
    """Samples one session while it runs, and shows what it finds."""

    def __init__(self, session: "Session", screen: Screen | None) -> None:
        self.session = session
        self.screen = screen
        meter = session.state.meter
        self.own = meter is None or meter.tally is None
        self.sampler = TopSampler(Meter(Tally()) if self.own else meter, session.line_of)
        self.begun = time.monotonic()
        self.passes: dict[Any, int] = {}
        """how often a backward began at each place"""
        self._next = self._latest = self.begun
        """When another sample may be taken, when the latest backward began"""
        self._idle = IDLE
        self._open = False
        """Whether the pass that is running is one of which a sample was taken"""
        self._process = os.getpid()
        self._over = threading.Event()

    def on_pass(self, task: Any, over: bool) -> None:
        """Take a sample when a backward begins, and look at the gradients when it ends."""
        if over:
            if self.own:
                self.sampler.meter.freed(task.order)
            if self._open:
                self._open = False
                self._spend(self._end)
            return
        now = time.monotonic()
        self._idle = min(LONG, max(IDLE, 2 * (now - self._latest)))
        self._latest = now
        where = task.location
        phase = None if where is None else (id(where[1]), where[2])
        number = self.passes[phase] = self.passes.get(phase, 0) + 1
        if now >= self._next and os.getpid() == self._process:
            self._open = True
            roots = [edge[0] for edge, _ in task.roots]
            line = self.session.line_of(where)
            self._spend(lambda: self.sampler.take(self.session.reachable(), line, roots, phase, number))

    def _end(self) -> None:
        self.sampler.note_gradients(self.session.reachable())
        self.show()

    def at_tick(self) -> None:
        """Take a sample where the program stands: no backward has begun for a while."""
        if time.monotonic() < self._next or os.getpid() != self._process:
            return
        where = self.session.machine.where()
        if where is None:
            return
        loop, within = _loop(where[0])
        phase, number = (None, 0) if loop is None else ((id(loop[0]), within, id(where[1]), where[2]), loop[1])
        line = self.session.line_of(where)
        self._spend(lambda: self.sampler.take(self.session.reachable(), line, (), phase, number))
        self._spend(self.show)

    def _spend(self, work: Any) -> None:
        """Do some work and wait so long with the next that it takes a small part of the time; what fails at a script's object is left."""
        begun = time.monotonic()
        with suppress(Exception):
            work()
        now = time.monotonic()
        self._next = max(self._next if self._next > begun else 0.0, begun + PACE) + _SHARE * (now - begun)

    def show(self) -> None:
        """Draw the latest sample."""
        screen = self.screen
        if screen is not None and self.sampler.samples and time.monotonic() - self.begun >= SOON:
            size = screen.pane.size()
            style = screen.style._replace(width=size.columns - 1)
            room = max(4, size.lines - _SPARE)
            screen.show(lines_of(view(self.sampler.report(), room), style)[:room])

    def beat(self) -> None:
        """Ask for a sample where none was taken for a while, and write what waits, until the watch is over. Runs in a thread."""
        while not self._over.wait(PACE):
            if self.screen is not None and self.screen._waiting:
                self.screen.flush()
            if time.monotonic() - max(self._next, self._latest) > self._idle:
                self.session.machine.soon(self.at_tick)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what runs within the block."""
        ambient = self.session.ambient
        before = ambient.passes

        def passes(task: object, over: bool) -> None:
            if before is not None:
                before(task, over)
            self.on_pass(task, over)

        ambient.passes = passes
        thread = threading.Thread(target=self.beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()
            if ambient.passes is passes:
                ambient.passes = before
            if self.screen is not None:
                self.screen.close()

    def result(self) -> Result:
        """Return the last sample as a command's result; of a program that took none, one of now."""
        if not self.sampler.samples:
            self.sampler.take(self.session.reachable(), None)
            self.sampler.note_gradients(self.session.reachable())
        report = self.sampler.report()
        return Result(0, "top", report, lambda: view(report))


def _loop(activation: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the pass of the loop that counts iterations (None: no loop), and the numbers of the passes within it.

    It is the innermost loop of the outermost function that is in one: a loop over layers, behind a call, is none.
    """
    found: Any = None
    within: list[int] = []
    numbers: list[int] = []
    here = None
    while activation is not None:
        parent, number, site, _ = activation
        if site is not None:
            here = None
        elif number:
            if here is None:
                here = found = activation
                within = [*numbers]
            numbers.append(number)
        activation = parent
    return found, tuple(within)


@contextmanager
def watched(session: "Session", sink: "Sink", *, plain: bool, quick: bool = False) -> Iterator[object]:
    """Watch a session within the block; give what takes its events. `quick`: a block that is over soon leaves no table."""
    drawn = not plain and is_redrawn(sink.err)
    screen = Screen(sink, Pane(sink.err), style_for(sink.err)) if drawn else None
    watch = TopWatch(session, screen)
    asker, browser = session.asker, session.browser
    if screen is not None:
        session.asker, session.browser = _aside(screen, asker), _aside(screen, browser)
    try:
        with watch.watching():
            yield screen or sink
    finally:
        session.asker, session.browser = asker, browser
    if not quick or (watch.sampler.samples and time.monotonic() - watch.begun >= SOON):
        sink(watch.result())


def _aside(screen: Screen, ask: Any) -> Any:
    """Return what asks a person, with the pane taken away meanwhile."""
    if ask is None:
        return None

    def asked(*arguments: Any) -> object:
        with screen.lock:
            screen.close()
            return ask(*arguments)

    return asked
