"""The prompt of a run that stops on its way: words that let it go on, conditions to stop at, and all else evaluated.

`backward --step` stops after nodes, `gradsh debug` before statements. A stop's condition is a name, `line N`, `nan`, `inf`,
`|g| > 1e3` or an expression; `break` keeps one for as long as the session lasts.
"""

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from gradsh.contracts.state import State
from gradsh.engine.graph.types import Location

WORDS = {
    "n": "next", "": "next", "u": "until", "b": "back", "c": "continue", "q": "quit", "h": "help", "?": "help",
}
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+|\[[^\]]*\])*")
_SIZE = re.compile(r"\|g\|\s*(>=|<=|>|<)\s*(\S+)")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


class Debugger(ABC):
    """Asks at each stop how to go on. `place` is what `reached` compares a condition with."""

    prompt: str
    words: tuple[str, ...]
    """what the words mean, for one that is not known"""
    breaks: list[str]

    def __init__(self, state: State) -> None:
        self.state = state
        self.control = state.control
        self.until = ""
        self.free = False
        """Whether it goes on to a condition that `break` keeps, or to the end."""
        self.breaks = state.extras.setdefault("break", [])

    @abstractmethod
    def reached(self, place: Location, condition: str) -> bool | None:
        """Whether a place meets a condition of a name or a line; None where the condition is of another form."""

    @abstractmethod
    def names(self, place: Location) -> Mapping[str, Any]:
        """Return the further names that can be evaluated at a place."""

    @abstractmethod
    def quit(self, answered: bool) -> bool:
        """End the run, or return that it may go on."""

    def command(self, place: Location, word: str, rest: str) -> bool | None:
        """Follow a word of its own; return whether that lets the run go on, None for a word that is not known."""
        del place, word, rest
        return None

    def stops(self, place: Location) -> bool:
        """Whether the run is to stop at a place."""
        if self.until:
            return self.meets(place, self.until) or self._breaks_at(place)
        return not self.free or self._breaks_at(place)

    def _breaks_at(self, place: object) -> bool:
        return any(self.meets(place, one) for one in self.breaks)

    def meets(self, place: Location, condition: str) -> bool:
        """Whether a place meets a condition; one that fails is told, and stops."""
        found = self.reached(place, condition)
        if found is not None:
            return found
        values = self.control.evaluate(condition, self.names(place), muted=True)
        return values is None or bool(values and values[-1])

    def converse(self, place: Location) -> None:
        """Ask until an answer lets the run go on."""
        self.until, self.free = "", False
        while not self._goes_on(place):
            pass

    def _goes_on(self, place: object) -> bool:
        answer = self.control.ask(self.prompt)
        if answer is None:
            return self.quit(False)
        first, _, rest = answer.strip().partition(" ")
        word, rest = WORDS.get(first, first), rest.strip()
        if (own := self.command(place, word, rest)) is not None:
            return own
        match word:
            case "next" if not rest:
                return True
            case "until" if rest:
                return self.towards(place, rest)
            case "break":
                self._keep(rest)
            case "continue" if not rest:
                self.free = True
                return True
            case "quit" if not rest:
                return self.quit(True)
            case "help" | "until":
                self.control.show(self.words)
            case _:
                self.control.evaluate(answer, self.names(place))
        return False

    def towards(self, place: Location, condition: str) -> bool:
        """Go on to a condition."""
        del place
        self.until = condition
        return True

    def _keep(self, condition: str) -> None:
        """Keep a condition, forget all (`off`), or list them."""
        if condition == "off":
            self.breaks.clear()
        elif condition and condition not in self.breaks:
            self.breaks.append(condition)
        self.control.show([f"stops at {one}" for one in self.breaks] or ["no stop is kept"])


def line_asked(condition: str) -> int | None:
    """Return N of the condition `line N`."""
    word, _, number = condition.partition(" ")
    return int(number) if word == "line" and number.strip().isdigit() else None


def is_name(condition: str) -> bool:
    """Whether a condition is the name of a node, a variable or a gradient."""
    return _NAME.fullmatch(condition) is not None


def size_asked(condition: str) -> Callable[[float], bool] | None:
    """Return what tells whether a size meets the condition `|g| > 1e3`; None for one of another form."""
    found = _SIZE.fullmatch(condition)
    if found is None:
        return None
    try:
        bound = float(found[2])
    except ValueError:
        return None
    return lambda size: _COMPARE[found[1]](size, bound)
