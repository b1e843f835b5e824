"""`warnings` for scripts: filters as Python has them, blocks that record, and what is shown after them.

The engine's warnings (PyTorch's) go through the same filters; notes of gradsh's own about stubs do not.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from gradsh.runtime.allowlist import offer
from gradsh.runtime.host import RuntimeHost
from gradsh.text.fault import fail

ACTIONS = ("error", "ignore", "always", "all", "default", "module", "once")


class Filter(NamedTuple):
    """What happens to warnings of a class whose text begins as a pattern says."""

    action: str
    message: str
    category: type[Warning]


class WarningMessage(NamedTuple):
    """A warning that a block recorded."""

    message: Warning
    category: type[Warning]
    filename: str
    lineno: int


class WarningFilters:
    """The filters of one program, the latest first, and the lists that record."""

    def __init__(self, machine: RuntimeHost) -> None:
        self.machine = machine
        self.filters: list[Filter] = []
        self.recording: list[list[WarningMessage] | None] = []

    def take(self, message: object, category: type[Warning] | None = UserWarning) -> None:
        """Show, record, raise or ignore a warning; a note, which has no class, is shown."""
        if category is None:
            self.machine.on_warning(str(message))
            return
        warning = message if isinstance(message, Warning) else category(message)
        action = self._action(str(warning), type(warning))
        if action == "error":
            raise warning
        if action == "ignore":
            return
        recorded = self.recording[-1] if self.recording else None
        if recorded is None:
            self.machine.on_warning(str(warning))
        else:
            recorded.append(WarningMessage(warning, type(warning), *self._place()))

    def _action(self, text: str, category: type[Warning]) -> str:
        fit = (one.action for one in self.filters if issubclass(category, one.category) and re.match(one.message, text, re.IGNORECASE))
        return next(fit, "default")

    def _place(self) -> tuple[str, int]:
        where = self.machine.where()
        unit = None if where is None else self.machine.units.of(where[1])
        return ("", 0) if where is None or unit is None else (unit.source.name, self.machine.units.span(where[1], where[2]).line)

    def add(self, action: str, message: str, category: type[Warning], append: bool) -> None:
        """Put a filter before the others, or after them."""
        if action not in ACTIONS:
            raise fail("value", f"invalid action: {action!r}", ValueError)
        if not (isinstance(category, type) and issubclass(category, Warning)):
            raise fail("type", "category must be a Warning subclass", TypeError)
        self.filters.insert(len(self.filters) if append else 0, Filter(action, message, category))


def load_warnings(machine: RuntimeHost) -> Mapping[str, object]:
    """Return what `warnings` offers."""
    filters = machine.warning_filters
    offer(WarningMessage, "message category filename lineno")

    def warn(message: object, category: object = None, stacklevel: int = 1, source: object = None) -> None:
        """Report a warning."""
        del stacklevel, source
        if category is not None and not (isinstance(category, type) and issubclass(category, Warning)):
            raise fail("type", f"category must be a Warning subclass, not '{type(category).__name__}'", TypeError)
        filters.take(message, category or UserWarning)

    def filterwarnings(
        action: str, message: str = "", category: object = Warning, module: str = "", lineno: int = 0, append: bool = False,
    ) -> None:
        """Add a filter by the beginning of the text and the class."""
        del module, lineno
        filters.add(action, message, category, append)

    def simplefilter(action: str, category: object = Warning, lineno: int = 0, append: bool = False) -> None:
        """Add a filter by the class."""
        del lineno
        filters.add(action, "", category, append)

    def resetwarnings() -> None:
        """Take all filters away."""
        filters.filters.clear()

    @contextmanager
    def catch_warnings(*, record: bool = False, action: str | None = None, **_: object) -> Iterator[list[WarningMessage] | None]:
        """Run a block after which the filters are as before; record its warnings in a list."""
        before = [*filters.filters]
        recorded: list[WarningMessage] | None = [] if record else None
        filters.recording.append(recorded if record else filters.recording[-1] if filters.recording else None)
        try:
            if action is not None:
                simplefilter(action)
            yield recorded
        finally:
            filters.filters = before
            filters.recording.pop()

    return {
        "warn": warn, "filterwarnings": filterwarnings, "simplefilter": simplefilter, "resetwarnings": resetwarnings,
        "catch_warnings": catch_warnings,
    }
