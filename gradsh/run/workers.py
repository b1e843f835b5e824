"""Processes that run scripts for another one: one script at a time each, and one that dies costs its own script only.

A worker hangs on nothing but a pipe to its parent: when the parent is gone, however it ended, its workers end too.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

class Lost:
    """The answer of a worker that ended before it had one: on which line, and why."""

    __slots__ = ("line", "reason")

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason


def start_worker() -> None:
    """Let the parent alone answer an interrupt, set the process up for tensors, and keep numpy to one thread."""
    gc.disable()  # until the first script: see `batch.collect_again`
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_threads(1, unless_set=True)
    from gradsh.run.script import prepare

    prepare()


def use_threads(count: int, *, unless_set: bool = False) -> None:
    """Keep OpenBLAS to so many threads; must come before numpy is loaded. With one, sums are the same in every run."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        if not (unless_set and name in os.environ):
            os.environ[name] = str(count)


def answers(task: Callable[[Item], Answer], items: Sequence[Item], jobs: int) -> Iterator[Answer | Lost]:
    """Yield what `task` answers for each item, in their order, from so many processes; `Lost` where one ended meanwhile.

    `task` and the items are sent to the processes. When the iterator is closed, the processes are ended.
    """
    from multiprocessing.connection import wait

    waiting = list(enumerate(items))[::-1]
    found: dict[int, Any] = {}
    workers: list[_Worker] = []
    given = 0
    try:
        while given < len(items):
            while waiting and len(workers) < jobs:
                workers.append(_Worker(task))
                workers[-1].give(*waiting.pop())
            ready = wait([one.pipe for one in workers])
            for worker in [one for one in workers if one.pipe in ready]:
                found[worker.number] = worker.take()
                if waiting and worker.alive:
                    worker.give(*waiting.pop())
                else:
                    worker.end()
                    workers.remove(worker)
            while given in found:
                yield found.pop(given)
                given += 1
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process and the pipe to it, seen from the parent."""

    def __init__(self, task: Callable[[Any], Any]) -> None:
        import multiprocessing

        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, task), daemon=True)
        with _uninterrupted():
            self.process.start()
        theirs.close()
        self.number = -1
        self.alive = True

    def give(self, number: int, item: Any) -> None:
        """Send an item; a process that is gone is found out when its answer is taken."""
        self.number = number
        try:
            self.pipe.send(item)
        except OSError:
            return

    def take(self) -> Any:
        """Return the answer, or what became of the process."""
        try:
            answer = self.pipe.recv()
        except (EOFError, OSError):
            self.alive = False
            self.process.join()
            return Lost(0, f"the process that ran it ended: {_ending(self.process.exitcode or 0)}")
        self.alive = type(answer) is not Lost
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        self.pipe.close()
        self.process.kill()
        self.process.join()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back: a process begins with what is held back here, and would show a traceback before it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # started on the way, it would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(code: int) -> str:
    if code >= 0:
        return f"status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _serve(pipe: Any, task: Callable[[Any], Any]) -> None:
    """Do a worker's work: answer each item that comes, until the parent closes the pipe."""
    start_worker()
    _end_with_parent()
    from gradsh.run.script import report_to

    report_to(lambda line, reason: pipe.send(Lost(line, reason)))
    try:
        while True:
            pipe.send(task(pipe.recv()))
    except (EOFError, OSError):
        os._exit(0)


def _end_with_parent() -> None:
    """End this process as soon as its parent is gone, also in the middle of a script."""
    import multiprocessing
    import threading
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


