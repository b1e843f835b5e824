"""Which line of the user's own files made a node: each line event notes the number that the next node will get.

A node's line is found by bisection with its `_sequence_nr()`, so an operation costs nothing. LineTracer come from
`sys.monitoring` where Python has it (3.12), else from a trace function. Numbers are counted per thread, and so is a `Log`.

A place has the form of the interpreter's: (activation, code, -line), where an activation is (parent, number of the pass
of a loop, code of the caller, -line there). The sign tells a line from the offset of an instruction.
"""

import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from gradsh.lens.files import Loop, Loops, UserFiles
from gradsh.runtime.activation import ROOT, Activation

Place = tuple[Activation, Any, int]
_UNKNOWN = object()
MOST = 400_000
"""Places that a thread's log holds; the older half is dropped beyond that."""


class Log:
    """The lines that one thread ran: nodes from `numbers[i]` on, up to the next number, were made at `places[i]`."""

    __slots__ = ("files", "modules", "muted", "next_number", "numbers", "places", "stack")

    def __init__(self, files: UserFiles, next_number: Callable[[], int]) -> None:
        self.files = files
        self.next_number = next_number
        self.numbers: list[int] = []
        self.places: list[Place | None] = []
        self.stack: list[Running] = []
        """The user's functions that are running, outermost first."""
        self.modules: list[tuple[Running | None, Any]] = []
        """The modules that are being called: who called each, and the activation before it."""
        self.muted: Any = None
        """The trace function that is turned off while a function of PyTorch's runs."""

    def note(self, place: Place) -> None:
        """Note that `place` runs now."""
        number = self.next_number()
        numbers = self.numbers
        if numbers and numbers[-1] >= number:
            self.places[-1] = place
            return
        numbers.append(number)
        self.places.append(place)
        if len(numbers) > MOST:
            del numbers[: MOST // 2], self.places[: MOST // 2]

    def here(self) -> Place | None:
        """Return the place that runs now, None outside of the user's files."""
        return self.stack[-1].place if self.stack else None

    def exactly(self, frame: FrameType | None) -> Place | None:
        """Return the place that runs now, to the instruction, where a frame was called from it."""
        if not self.stack:
            return None
        running = self.stack[-1]
        while frame is not None and frame.f_code is not running.code:
            frame = frame.f_back
        return running.place if frame is None else (running.activation, running.code, frame.f_lasti)

    def find(self, number: int) -> Place | None:
        """Return the place that made the node of this number."""
        index = bisect_right(self.numbers, number) - 1
        return self.places[index] if index >= 0 else None

    def enter(self, code: object, loops: Loops) -> "Running":
        """Note that a function of the user's begins, called by the one that runs now."""
        activation: Activation = ROOT
        if self.stack:
            caller = self.stack[-1]
            activation = (caller.activation, 0, caller.code, -caller.line)
        running = Running(self, code, loops, activation)
        self.stack.append(running)
        return running

    def leave(self, running: "Running") -> None:
        """Note that a function was left: what follows belongs to the line that called it."""
        stack = self.stack
        while stack and stack.pop() is not running:
            pass
        if stack:
            self.note(stack[-1].place)

    def hear(self) -> object:
        """Follow lines again where a function of PyTorch's turned that off; return what `mute` needs to turn it off."""
        muted = self.muted
        if muted is None or sys.gettrace() is not None:
            return None
        self.muted = None
        sys.settrace(muted)
        return muted

    def mute(self, trace: object) -> None:
        """Follow no lines until the function of PyTorch's ends, if `hear` has begun to."""
        if trace is not None and sys.gettrace() is trace:
            sys.settrace(None)
            self.muted = trace

    def tracer(self) -> Callable[[Any, str, Any], "Running | None"]:
        """Return the trace function of this log's thread. It is called for each Python function that runs: nothing is looked up twice."""
        known, unknown = self.files.plans, _UNKNOWN

        def trace(frame: Any, event: str, _: object) -> "Running | None":
            loops = known.get(id(frame.f_code), unknown)
            if loops is None:
                return None
            return self._follow(frame, event)

        trace.log = self  # type: ignore[attr-defined]
        return trace

    def _follow(self, frame: FrameType, event: str) -> "Running | None":
        """Follow a function of the user's."""
        loops = self.files.loops_of(frame.f_code)
        if loops is None or event != "call":
            return None
        running = frame.f_trace
        if type(running) is Running and running.log is self:  # a generator goes on
            self.stack.append(running)
            return running
        return self.enter(frame.f_code, loops)


def is_ours(trace: object) -> bool:
    """Whether a trace function is that of a log."""
    return type(getattr(trace, "log", None)) is Log


class Running:
    """A function of the user's that is running; for a trace function it is the frame's own."""

    __slots__ = ("activation", "code", "inside", "line", "log", "loops", "place")

    def __init__(self, log: Log, code: Any, loops: Loops, activation: Activation) -> None:
        self.log = log
        self.code = code
        self.loops = loops
        self.activation = activation
        self.inside: list[Loop] = []
        self.line = code.co_firstlineno
        self.place: Place = (activation, code, -self.line)

    def __call__(self, frame: Any, event: str, _: Any) -> "Running":
        """Answer an event of the trace function."""
        if event == "line":
            self.at(frame.f_lineno)
        elif event == "return":
            self.log.leave(self)
        return self

    def at(self, line: int) -> None:
        """Note that a line begins."""
        if self.loops and (self.inside or line in self.loops):
            self._follow_loops(line)
        self.line = line
        place = self.place = (self.activation, self.code, -line)
        log = self.log
        number = log.next_number()
        numbers = log.numbers
        if numbers and numbers[-1] >= number:
            log.places[-1] = place
        else:
            log.note(place)

    def _follow_loops(self, line: int) -> None:
        """Count a pass where the header of a loop is reached; leave the loops that the line is not in."""
        inside = self.inside
        while inside and not inside[-1].first <= line <= inside[-1].last:
            inside.pop()
            self.activation = self.activation[0]
        loop = self.loops.get(line)
        if loop is None or (inside and loop.header > loop.first and self.line != line and loop.first <= self.line <= loop.header):
            return
        if inside and inside[-1] is loop:
            parent, number, _, _ = self.activation
            self.activation = (parent, number + 1, None, 0)
        else:
            inside.append(loop)
            self.activation = (self.activation, 1, None, 0)


class LineTracer:
    """Follows the lines of all threads while it is on."""

    def __init__(self, files: UserFiles, next_number: Callable[[], int]) -> None:
        self.files = files
        self.next_number = next_number
        self.logs: list[Log] = []
        self._local = threading.local()
        self._outer: Any = None
        self._tool: int | None = None

    def log(self) -> Log:
        """Return the log of this thread."""
        try:
            return self._local.log  # type: ignore[no-any-return]
        except AttributeError:
            found = self._local.log = Log(self.files, self.next_number)
            self.logs.append(found)
            return found

    def find(self, number: int) -> Place | None:
        """Return the place that made a node: this thread's, else that of the first other thread that knows the number."""
        place = self.log().find(number)
        if place is not None:
            return place
        return next((found for log in self.logs if (found := log.find(number)) is not None), None)

    def start(self, *, joins: bool = True) -> None:
        """Begin to follow lines, with `joins` also those of functions that are running."""
        if hasattr(sys, "monitoring"):
            self._start_monitoring(joins)
        else:
            self._outer = sys.gettrace(), threading.gettrace()
            threading.settrace(self._trace_thread)
            self._join_running(sys._getframe(1) if joins else None)
            sys.settrace(self.log().tracer())

    def stop(self) -> None:
        """Follow lines no longer."""
        if self._tool is not None:
            monitoring = sys.monitoring  # type: ignore[attr-defined]
            monitoring.set_events(self._tool, 0)
            monitoring.free_tool_id(self._tool)
            self._tool = None
        elif self._outer is not None:
            if is_ours(sys.gettrace()):
                sys.settrace(self._outer[0])
            threading.settrace(self._outer[1])
            self._outer = None
            for log in self.logs:
                log.muted = None
        self.log().stack.clear()

    def resume(self) -> None:
        """Follow this thread's lines again where a debugger, or the program itself, took the trace function away.

        What was made since the last line that was seen has no known line.
        """
        log = self.log()
        if self._outer is None or log.muted is not None or sys.gettrace() is not None:
            return
        if log.places:
            log.places[-1] = None
        log.stack.clear()
        self._join_running(sys._getframe(1))
        sys.settrace(log.tracer())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Follow no lines of this thread within the block: looking at a graph runs thousands of gradsh's own functions."""
        trace = sys.gettrace()
        if not is_ours(trace):
            yield
            return
        sys.settrace(None)
        try:
            yield
        finally:
            sys.settrace(trace)

    def _trace_thread(self, frame: object, event: str, argument: object) -> Any:
        log = self.log()
        trace = log.tracer()
        sys.settrace(trace)
        return trace(frame, event, argument)

    def _join_running(self, frame: FrameType | None) -> None:
        """Take the user's frames that are running into the log, outermost first."""
        frames = []
        while frame is not None:
            loops = self.files.loops_of(frame.f_code)
            if loops is not None:
                frames.append((frame, loops))
            frame = frame.f_back
        for one, loops in reversed(frames):
            running = self.log().enter(one.f_code, loops)
            running.at(one.f_lineno)
            if not hasattr(sys, "monitoring"):
                one.f_trace = running

    # --- Python 3.12 and later ------------------------------------------------------------------------------------

    def _start_monitoring(self, joins: bool) -> None:
        monitoring = sys.monitoring  # type: ignore[attr-defined]
        tool = next((one for one in (4, 3, 2, 1) if monitoring.get_tool(one) is None), None)
        if tool is None:
            raise RuntimeError("lines are not known: other tools use all tool ids of sys.monitoring")
        monitoring.use_tool_id(tool, "gradsh")
        self._tool = tool
        events = monitoring.events
        for event, answer in (
            (events.PY_START, self._begin), (events.PY_RESUME, self._begin), (events.PY_THROW, self._thrown),
            (events.PY_RETURN, self._end), (events.PY_YIELD, self._end), (events.PY_UNWIND, self._end),
            (events.LINE, self._line),
        ):
            monitoring.register_callback(tool, event, answer)
        self._join_running(sys._getframe(2) if joins else None)
        for running in self.log().stack:
            monitoring.set_local_events(tool, running.code, self._local_events())
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND)
        monitoring.restart_events()

    @staticmethod
    def _local_events() -> int:
        events = sys.monitoring.events  # type: ignore[attr-defined]
        return int(events.LINE | events.PY_RETURN | events.PY_YIELD)

    def _begin(self, code: object, _: int) -> object:
        loops = self.files.loops_of(code)
        monitoring = sys.monitoring  # type: ignore[attr-defined]
        if loops is None:
            return monitoring.DISABLE
        monitoring.set_local_events(self._tool, code, self._local_events())
        self.log().enter(code, loops)
        return None

    def _thrown(self, code: object, offset: int, _: BaseException) -> None:
        if self.files.loops_of(code) is not None:
            self._begin(code, offset)

    def _end(self, code: object, _: int, __: object) -> None:
        log = self.log()
        if log.stack and log.stack[-1].code is code:
            log.leave(log.stack[-1])

    def _line(self, code: object, line: int) -> None:
        stack = self.log().stack
        if stack and stack[-1].code is code:
            stack[-1].at(line)
