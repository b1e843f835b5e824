"""`logging` for scripts: loggers with levels, whose lines go to standard error as the program's warnings do not."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

LEVELS = {"NOTSET": 0, "DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
_NAMES = {number: name for name, number in LEVELS.items()}
_FORMAT = "%(levelname)s:%(name)s:%(message)s"


class Settings:
    """What `basicConfig` sets: one level and one format for all loggers of a program."""

    def __init__(self) -> None:
        self.level = LEVELS["WARNING"]
        self.format = _FORMAT
        self.style = "%"


class Logger:
    """A logger: `info("step %d", n)` writes a line where its level is on."""

    __module__ = "logging"
    __script_attributes__ = frozenset({
        "debug", "info", "warning", "warn", "error", "critical", "exception", "log", "setLevel", "isEnabledFor",
        "getEffectiveLevel", "name", "level", "addHandler", "removeHandler", "handlers", "propagate",
    })

    def __init__(self, machine: "Machine", settings: Settings, name: str) -> None:
        self._machine = machine
        self._settings = settings
        self.name = name
        self.level = 0
        self.handlers: tuple[Any, ...] = ()
        self.propagate = True

    def setLevel(self, level: Any) -> None:
        """Set the lowest level that is written."""
        self.level = level_of(level)

    def getEffectiveLevel(self) -> int:
        """Return the lowest level that is written."""
        return self.level or self._settings.level

    def isEnabledFor(self, level: int) -> bool:
        """Return whether lines of this level are written."""
        return level_of(level) >= self.getEffectiveLevel()

    def log(self, level: Any, msg: Any, *args: Any, **_: Any) -> None:
        """Write a line of some level."""
        number = level_of(level)
        if number >= self.getEffectiveLevel():
            text = str(msg) % args if args else str(msg)
            values = {"levelname": _NAMES.get(number, f"Level {number}"), "name": self.name, "message": text, "asctime": ""}
            line = _filled(self._settings.format, values)
            self._machine.on_error_output(line + "\n")

    def debug(self, msg: Any, *args: Any, **options: Any) -> None:
        """Write a line of level DEBUG."""
        self.log(LEVELS["DEBUG"], msg, *args, **options)

    def info(self, msg: Any, *args: Any, **options: Any) -> None:
        """Write a line of level INFO."""
        self.log(LEVELS["INFO"], msg, *args, **options)

    def warning(self, msg: Any, *args: Any, **options: Any) -> None:
        """Write a line of level WARNING."""
        self.log(LEVELS["WARNING"], msg, *args, **options)

    def error(self, msg: Any, *args: Any, **options: Any) -> None:
        """Write a line of level ERROR."""
        self.log(LEVELS["ERROR"], msg, *args, **options)

    def critical(self, msg: Any, *args: Any, **options: Any) -> None:
        """Write a line of level CRITICAL."""
        self.log(LEVELS["CRITICAL"], msg, *args, **options)

    warn = warning
    exception = error

    def addHandler(self, handler: Any) -> None:
        """Take a handler and go on as before: every line goes to standard error."""

    def removeHandler(self, handler: Any) -> None:
        """Take a handler and go on as before."""


class Handler:
    """Stands for any handler or formatter: takes settings, changes nothing."""

    __module__ = "logging"
    __script_attributes__ = frozenset({"setLevel", "setFormatter", "close", "flush"})

    def __init__(self, *_: Any, **__: Any) -> None:
        return

    def setLevel(self, level: Any) -> None:
        """Take a level and change nothing."""

    def setFormatter(self, formatter: Any) -> None:
        """Take a formatter and change nothing."""

    def close(self) -> None:
        """Do nothing."""

    flush = close


def _filled(template: str, values: dict[str, str]) -> str:
    """Put values into `%(name)s` fields, plain text only: a program's format must not reach anything else."""
    import re

    return re.sub(r"%\((\w+)\)-?\d*[sd]", lambda match: values.get(match[1], ""), template)


def level_of(level: Any) -> int:
    """Return the number of a level that is a number or a name."""
    if isinstance(level, str):
        if level not in LEVELS:
            raise ValueError(f"Unknown level: {level!r}")
        return LEVELS[level]
    return int(level)


def load_logging(machine: "Machine") -> Mapping[str, Any]:
    """Return what `logging` offers."""
    settings = Settings()
    root = Logger(machine, settings, "root")
    loggers = {"": root, "root": root}

    def getLogger(name: str | None = None) -> Logger:
        """Return the logger of that name, the same each time."""
        key = name or ""
        return loggers.get(key) or loggers.setdefault(key, Logger(machine, settings, key))

    def basicConfig(**options: Any) -> None:
        """Set the level and the format of all loggers."""
        settings.level = level_of(options.get("level", settings.level))
        settings.format = str(options.get("format", settings.format))

    methods = {name: getattr(root, name) for name in ("debug", "info", "warning", "warn", "error", "critical", "exception", "log")}
    handlers = dict.fromkeys(("StreamHandler", "FileHandler", "Formatter", "NullHandler"), Handler)
    return methods | handlers | LEVELS | {"getLogger": getLogger, "basicConfig": basicConfig, "Logger": Logger}
