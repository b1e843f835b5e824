"""Programs run statement by statement here and in PyTorch, compared after each one, and shortened where they differ.

    python -m tests.parity.duel FIRST_SEED COUNT [SHARE]        differing programs, shortened, and how often each kind differs;
                                                        SHARE of their leaves are of float16 or bfloat16
    python -m tests.parity.duel FILE.py                 the same for a program of your own (statements from its text)

Output, the class and text of an error, warnings, and everything of `facts.py` must agree. A program's own randomness comes
from seeds set in it.
"""

import ast
import collections
import contextlib
import io
import pathlib
import random
import re
import sys
import warnings
from typing import Any

import torch as pytorch

from gradsh.contracts.events import Print, Warn
from gradsh.engine.ambient import enter
from gradsh.ops import load_all
from gradsh.session.session import Session
from tests.oracle import compare
from tests.parity.facts import ADDRESS, Difference, Walk, spoken, unheard
from tests.parity.writer import write
from tests.processes import aside

load_all()  # before the processes of `aside` branch off
CRASHED = ("PyTorch crashed", "the process died")


class Here:
    """A program in gradsh."""

    def __init__(self) -> None:
        self.session = Session()
        self.explain = self.session.machine.explain
        self.session.machine.explain = self._explain  # type: ignore[method-assign]
        self.error: str | None = None
        self.printed: list[str] = []
        self.warned: list[str] = []

    def _explain(self, error: BaseException, unit: Any = None) -> Any:
        self.error = spoken(error)  # type: ignore[no-untyped-call]
        return self.explain(error, unit)

    def _emit(self, event: Any) -> None:
        if isinstance(event, Print):
            self.printed.append(event.text + ("\n" if event.newline else ""))
        elif isinstance(event, Warn):
            self.warned.append(event.message)

    def step(self, statement: str) -> tuple[str | None, str, list[str]]:
        """Run a statement; return its error, what it printed and what it warned of."""
        self.error, self.printed, self.warned = None, [], []
        outcome = self.session.run(statement, self._emit)
        if outcome.status and self.error is None:
            self.error = "not parsed"
        return self.error, ADDRESS.sub("0x0", "".join(self.printed)), self.warned

    def variables(self) -> dict[str, Any]:
        """Return the program's variables."""
        return self.session.machine.variables()


class There:
    """A program in PyTorch."""

    def __init__(self) -> None:
        self.space: dict[str, Any] = {"__name__": "__main__"}
        random.seed(0)
        pytorch.manual_seed(0)
        pytorch.set_grad_enabled(True)
        pytorch.set_default_dtype(pytorch.float32)
        pytorch.set_printoptions(profile="default")

    def step(self, statement: str) -> tuple[str | None, str, list[str]]:
        """Run a statement; return its error, what it printed and what it warned of."""
        out, error = io.StringIO(), None
        with warnings.catch_warnings(record=True) as told, contextlib.redirect_stdout(out):
            warnings.simplefilter("always")
            try:
                exec(statement, self.space)
            except Exception as raised:  # noqa: BLE001  (it is what is compared)
                error = spoken(raised)  # type: ignore[no-untyped-call]
                raised.__traceback__ = None
        return error, ADDRESS.sub("0x0", out.getvalue()), [str(one.message) for one in told]

    def variables(self) -> dict[str, Any]:
        """Return the program's variables."""
        return {name: value for name, value in self.space.items() if name[:2] != "__"}


class Duel:
    """One program in both."""

    def __init__(self, *, saved: bool = True) -> None:
        self.here, self.there = Here(), There()
        self.saved = saved

    def step(self, statement: str) -> str | None:
        """Run a statement in both; return the difference that shows, or None."""
        expected_error, expected, _ = self.there.step(statement)
        error, printed, _ = self.here.step(statement)
        if error != expected_error:
            return f"error: PyTorch {expected_error}, here {error}"
        lines, others = printed.split("\n"), expected.split("\n")
        if len(lines) != len(others) or not all(map(compare.same_line, others, lines)):  # type: ignore[no-untyped-call]
            return f"print: PyTorch {expected!r}, here {printed!r}"
        return self.difference()

    def difference(self) -> str | None:
        """Return what differs between the programs' variables, or None."""
        mine, theirs = self.here.variables(), self.there.variables()
        only = set(mine) ^ set(theirs)
        if only:
            return f"names: {sorted(only)} bound in one only"
        random_state = pytorch.get_rng_state()
        with unheard(), contextlib.redirect_stdout(io.StringIO()), enter(self.here.session.ambient):
            try:
                Walk(saved=self.saved).names(mine, theirs)  # type: ignore[no-untyped-call]
            except Difference as found:
                return str(found)
            finally:
                pytorch.set_rng_state(random_state)
        return None


def run(statements: list[str]) -> tuple[int, str] | None:
    """Run a program in both; return (the statement's place, the difference) where they part, else None."""
    duel = Duel(saved=not any("checkpoint" in one or "saved_tensors_hooks" in one for one in statements))
    for place, statement in enumerate(statements):
        found = duel.step(statement)
        if found is not None:
            return place, found
    return None


def kind_of(difference: str) -> str:
    """Return a difference without what varies from program to program, to count by."""
    text = re.sub(r"\b[a-z]+\d+\b", "v", difference)
    text = re.sub(r"\[[-\d, ]*\]|\([-\d, ]*\)", "[]", text)
    text = re.sub(r"-?\d+(\.\d*)?(e[-+]?\d+)?", "N", text)
    return text.partition(" values: ")[0][:110]


def shorten(statements: list[str], found: tuple[int, str]) -> tuple[list[str], str]:
    """Leave out statements as long as the program still differs in the same way; return it with its difference."""
    statements, difference = statements[: found[0] + 1], found[1]
    kind = kind_of(difference)[:30]
    place = len(statements) - 2
    while place >= 0:
        fewer = statements[:place] + statements[place + 1 :]
        again = run(fewer)
        if again is not None and kind_of(again[1])[:30] == kind and "NameError" not in again[1]:
            statements, difference = fewer[: again[0] + 1], again[1]
        place = min(place, len(statements) - 1) - 1
    return statements, difference


def statements_of(text: str) -> list[str]:
    """Return the top-level statements of a program."""
    return [ast.get_source_segment(text, one) or "" for one in ast.parse(text).body]


def verdict(statements: list[str]) -> tuple[str, str] | None:
    """Run a program; return (the kind of difference, the program, shortened, with its difference), None if it agrees."""
    found = run(statements)
    if found is None:
        return None
    fewer, difference = shorten(statements, found)
    return kind_of(difference), "\n".join(fewer) + f"\n=> {difference[:900]}"


def judged(seed: int, reduced: float = 0.0) -> Any:
    """Return the verdict on a seed's program."""
    return aside(lambda: verdict(write(seed, reduced)), CRASHED)


def main(words: list[str]) -> int:
    """Compare a file's program, or those of seeds."""
    pytorch.set_num_threads(1)
    if not words[0].isdigit():
        found = verdict(statements_of(pathlib.Path(words[0]).read_text(encoding="utf-8")))
        print("" if found is None else found[1], end="" if found is None else "\n")
        return 0 if found is None else 1
    first, count, reduced = int(words[0]), int(words[1]), float(words[2]) if len(words) > 2 else 0.0
    differing: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + count):
        found = judged(seed, reduced)
        if found is not None:
            differing[found[0]] += 1
            print(f"--- seed {seed}\n{found[1]}", flush=True)
    for kind, times in differing.most_common():
        print(f"{times:5} {kind}")
    print(f"{differing.total() - differing[CRASHED[0]]} of {count} programs differ")
    return 1 if differing.keys() - {CRASHED[0]} else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
