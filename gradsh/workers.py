"""What a process that runs scripts for another one begins with."""

import os
import signal


def start_worker() -> None:
    """Let the parent alone answer an interrupt, set the process up for tensors, and keep numpy to one thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_threads(1, unless_set=True)
    from gradsh.batch import prepare

    prepare()


def use_threads(count: int, *, unless_set: bool = False) -> None:
    """Keep OpenBLAS to so many threads; must come before numpy is loaded. With one, sums are the same in every run."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        if not (unless_set and name in os.environ):
            os.environ[name] = str(count)
