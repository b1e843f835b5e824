"""Python's modules about threads and processes, as far as a program with one thread has a use for them: nothing waits."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import standing_in, tell
from gradsh.runtime.library import Library, listed
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

ON_PYTORCH = "run the program on PyTorch: `gradsh trace FILE`"


class Empty(Exception):
    """A queue has nothing to give."""

    __module__ = "_queue"


class Full(Exception):
    """A queue takes no more."""

    __module__ = "queue"


class Queue:
    """First in, first out. No thread would make room or fill it: `put` goes beyond the size, `get` of an empty one fails."""

    __module__ = "queue"
    __script_attributes__ = frozenset({
        "put", "get", "put_nowait", "get_nowait", "qsize", "empty", "full", "task_done", "join", "maxsize",
    })

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize = maxsize
        self._held: Any = deque()

    def _add(self, item: object) -> None:
        self._held.append(item)

    def _take(self) -> object:
        return self._held.popleft()

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> None:
        """Add an item. Raises Full where it should not wait, or only for a while."""
        if (not block or timeout is not None) and self.full():
            raise Full
        self._add(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the next item. Raises Empty where it should not wait, or only for a while."""
        if self._held:
            return self._take()
        if block and timeout is None:
            text = "the queue is empty, and no other thread will fill it"
            raise fail("other", text, way=f"put the item before it is taken, or {ON_PYTORCH}")
        raise Empty

    def put_nowait(self, item: object) -> None:
        """Add an item. Raises Full."""
        self.put(item, block=False)

    def get_nowait(self) -> object:
        """Take the next item. Raises Empty."""
        return self.get(block=False)

    def qsize(self) -> int:
        """Return how many items it holds."""
        return len(self._held)

    def empty(self) -> bool:
        """Return whether it holds nothing."""
        return not self._held

    def full(self) -> bool:
        """Return whether it holds as many items as it was made for."""
        return 0 < self.maxsize <= len(self._held)

    def task_done(self) -> None:
        """Do nothing: nobody waits for it."""

    join = task_done


class LifoQueue(Queue):
    """Last in, first out."""

    __module__ = "queue"

    def _take(self) -> object:
        return self._held.pop()


class PriorityQueue(Queue):
    """The smallest first."""

    __module__ = "queue"

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self._held = []

    def _add(self, item: object) -> None:
        heappush(self._held, item)

    def _take(self) -> object:
        return heappop(self._held)


def load_queue(_: "Machine") -> Mapping[str, object]:
    """Return what `queue` offers."""
    return {one.__name__: one for one in (Queue, LifoQueue, PriorityQueue, Empty, Full)} | {"SimpleQueue": Queue}


class Lock:
    """A lock that nobody else holds."""

    __module__ = "threading"
    __script_attributes__ = frozenset({"acquire", "release", "locked"})

    def __init__(self) -> None:
        self._count = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock."""
        self._count += 1
        return True

    def release(self) -> None:
        """Give the lock back. Raises RuntimeError where it is not held."""
        if not self._count:
            raise RuntimeError("release unlocked lock")
        self._count -= 1

    def locked(self) -> bool:
        """Return whether it is held."""
        return self._count > 0

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def load_threading(_: "Machine") -> Mapping[str, object]:
    """Return what `threading` offers: locks; a program has one thread."""
    return {"Lock": Lock, "RLock": Lock, "active_count": lambda: 1, "get_ident": lambda: 1}


def load_multiprocessing(_: "Machine") -> Mapping[str, object]:
    """Return what `multiprocessing` offers: questions; a program has one process."""
    nothing = dict.fromkeys(("set_start_method", "freeze_support"), lambda *_, **__: None)
    return nothing | {"cpu_count": lambda: 1, "get_start_method": lambda allow_none=False: "fork"}


class Future:
    """What `submit` returns: the result of a call that has run, or its exception."""

    __module__ = "concurrent.futures"
    __script_attributes__ = frozenset({"result", "exception", "done", "running", "cancel", "cancelled", "add_done_callback"})

    def __init__(self, function: Callable[..., object], args: tuple[object, ...], options: Mapping[str, object]) -> None:
        self._result = None
        self._error: Exception | None = None
        try:
            self._result = function(*args, **options)
        except Exception as error:  # noqa: BLE001  # it is raised where the result is asked for
            self._error = error

    def result(self, timeout: float | None = None) -> Any:
        """Return the result. Raises what the call raised."""
        if self._error is not None:
            raise self._error
        return self._result

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Return what the call raised, or None."""
        return self._error

    def done(self) -> bool:
        """Return True: the call has run."""
        return True

    def running(self) -> bool:
        """Return False: the call has run."""
        return False

    cancel = cancelled = running

    def add_done_callback(self, fn: Callable[["Future"], object]) -> None:
        """Call a function with the future, at once."""
        fn(self)


@standing_in("ThreadPoolExecutor", "each call runs where it is submitted, one after the other")
class ThreadPoolExecutor:
    """Runs each call where it is submitted."""

    __module__ = "concurrent.futures"
    __script_attributes__ = frozenset({"submit", "map", "shutdown"})

    def __init__(self, max_workers: int | None = None, *_: object, **__: object) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        tell(ThreadPoolExecutor)

    def submit(self, fn: Callable[..., object], /, *args: object, **kwargs: object) -> Future:
        """Call the function."""
        return Future(fn, args, kwargs)

    def map(
        self, fn: Callable[..., object], *iterables: Iterable[object], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """Call the function for each item; return the results in order."""
        calls = [self.submit(fn, *args) for args in zip(*iterables, strict=False)]
        return (call.result() for call in calls)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: every call has run."""

    def __enter__(self) -> "ThreadPoolExecutor":
        return self

    def __exit__(self, *_: object) -> None:
        return


def as_completed(fs: Iterable[Future], timeout: float | None = None) -> Iterator[Future]:
    """Give the futures in the order of their calls."""
    return iter(list(fs))


def wait(fs: Iterable[Future], timeout: float | None = None, return_when: str = "ALL_COMPLETED") -> tuple[set[Future], set[Future]]:
    """Return the futures that are done (all) and those that are not."""
    return set(fs), set()


def load_concurrent(_: "Machine") -> Mapping[str, object]:
    """Return what `concurrent` offers: `futures`."""
    members = {"ThreadPoolExecutor": ThreadPoolExecutor, "Future": Future, "as_completed": as_completed, "wait": wait}
    return {"futures": Library("concurrent.futures", lambda: members)}


def load_signal(_: "Machine") -> Mapping[str, object]:
    """Return what `signal` offers: handlers are kept and never called."""
    import signal

    handlers: dict[int, Any] = {}

    def set_handler(signalnum: int, handler: object, /) -> object:
        """Keep a handler; return the one before."""
        before = handlers.get(signalnum, 0)
        handlers[signalnum] = handler
        return before

    names = "SIGINT SIGTERM SIGHUP SIGUSR1 SIGUSR2"
    values: dict[str, Any] = {name: int(one) for name, one in listed(signal, names).items()}
    return values | {"signal": set_handler, "getsignal": handlers.get, "SIG_DFL": 0, "SIG_IGN": 1}
