"""`python -m fuzz TARGET|all [COUNT] [SEED]` draws inputs by seed; `python -m fuzz TARGET --atheris [OPTIONS]` by coverage.

A seeded run goes on after a failure and names the seed; `python -m fuzz TARGET 1 SEED` repeats it. atheris (`pip install atheris`)
is no dependency: it needs a Python that has wheels of it.
"""

import faulthandler
import random
import sys
import time
import traceback

PATIENCE = 60
"""Seconds after which an input counts as a hang: the process ends with its stack."""


def seeded(name: str, count: int, first: int) -> int:
    """Run so many inputs; return the exit status."""
    from fuzz.targets import attempt

    broken = 0
    begun = time.monotonic()
    for seed in range(first, first + count):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            attempt(name, random.Random(seed))
        except Exception:  # noqa: BLE001  # that is what is looked for
            broken += 1
            traceback.print_exc(limit=-3)
            sys.stderr.write(f"seed {seed}\n")
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(f"{name}: {count} inputs, {broken} broken, {time.monotonic() - begun:.0f} s\n")
    return 1 if broken else 0


def guided(name: str, options: list[str]) -> None:
    """Let atheris draw the inputs, guided by what of the readers they reach; never returns."""
    import atheris

    instrumented = [f"gradsh.{room}" for room in ("language", "text", "golden", "compiler", "runtime", "shell")]
    with atheris.instrument_imports(include=instrumented):
        from fuzz.drawn import Drawn
        from fuzz.targets import attempt

    def one(data: bytes) -> None:
        attempt(name, Drawn(data))

    atheris.Setup([sys.argv[0], *options], one)
    atheris.Fuzz()


def main() -> None:
    """Read the arguments and run."""
    name, *rest = sys.argv[1:]
    if rest[:1] == ["--atheris"]:
        guided(name, rest[1:])
    from fuzz.targets import TARGETS

    count, first = (*map(int, rest), *(1000, 0)[len(rest) :])
    sys.exit(max([seeded(one, count, first) for one in (TARGETS if name == "all" else (name,))]))


if __name__ == "__main__":
    main()
