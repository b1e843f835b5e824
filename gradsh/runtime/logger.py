"""`logging` for scripts: loggers with levels, handlers and formatters, whose lines go to the program's own streams."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gradsh.engine.attribute_names import ScriptBase
from gradsh.runtime.library import Library
from gradsh.runtime.session_files import open

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

LEVELS = {"NOTSET": 0, "DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
_NAMES = {number: name for name, number in LEVELS.items()}
_FORMAT = "%(levelname)s:%(name)s:%(message)s"
_ROTATING = ("RotatingFileHandler", "TimedRotatingFileHandler")
_FIELD = re.compile(r"%\((\w+)\)(-?\d*(?:\.\d+)?)[sdf]")
_BRACED = re.compile(r"\{(\w+)(?::[^{}]*)?\}")


class Formatter:
    """How a record becomes a line: fields in plain text, so that a format reaches nothing else."""

    __module__ = "logging"
    __script_attributes__ = frozenset({"format", "formatTime"})

    def __init__(self, fmt: object = None, datefmt: object = None, style: str = "%", **_: object) -> None:
        self._template = "%(message)s" if fmt is None else str(fmt)
        self._dates = "%Y-%m-%d %H:%M:%S,000" if datefmt is None else str(datefmt)
        self._braced = style == "{"

    def formatTime(self, record: object = None, datefmt: object = None) -> str:
        """Return the time of day."""
        import time

        return time.strftime(self._dates if datefmt is None else str(datefmt))

    def format(self, record: object) -> str:
        """Return the line of a record."""
        if not isinstance(record, Record):
            raise TypeError(f"format() takes a record of a logger, not {type(record).__name__}")
        values = {"levelname": record.levelname, "name": record.name, "message": record.getMessage()}
        if "asctime" in self._template:
            values["asctime"] = self.formatTime()
        if self._braced:
            return _BRACED.sub(lambda found: values.get(found[1], ""), self._template)
        return _FIELD.sub(lambda found: f"%{found[2][:4]}s" % values.get(found[1], ""), self._template)


class Record:
    """One line of a logger, before it is formatted."""

    __script_attributes__ = frozenset({"getMessage", "levelname", "levelno", "msg", "args", "name"})

    def __init__(self, name: str, level: int, msg: object, args: tuple[object, ...]) -> None:
        self.name, self.levelno, self.msg, self.args = name, level, msg, args
        self.levelname = _NAMES.get(level, f"Level {level}")

    def getMessage(self) -> str:
        """Return the message with its arguments; one dictionary gives them by name."""
        named = len(self.args) == 1 and isinstance(self.args[0], dict) and self.args[0]
        return str(self.msg) % (named or self.args) if self.args else str(self.msg)


class Handler:
    """Writes records of a level and above to a stream; without one (a null handler) it writes nowhere."""

    __module__ = "logging"
    __script_attributes__ = frozenset({"setLevel", "setFormatter", "close", "flush", "level", "formatter"})

    def __init__(self, write: Any = None) -> None:
        self._write = write
        self.level = 0
        self.disabled = 0
        """Levels up to this one no logger writes: `logging.disable` sets it on the handler that all share."""
        self.formatter = Formatter()

    def setLevel(self, level: object) -> None:
        """Set the lowest level that is written."""
        self.level = level_of(level)

    def setFormatter(self, formatter: object) -> None:
        """Set how records become lines."""
        if not isinstance(formatter, Formatter):
            raise TypeError(f"setFormatter() takes a logging.Formatter, not {type(formatter).__name__}")
        self.formatter = formatter

    def handle(self, record: Record) -> None:
        """Write a record."""
        if self._write is not None and record.levelno >= self.level:
            self._write(self.formatter.format(record) + "\n")

    def close(self) -> None:
        """Do nothing."""

    flush = close


class Logger(ScriptBase):
    """A logger: `info("step %d", n)` writes a line where its level is on, to its handlers and those of the root."""

    __module__ = "logging"
    __script_attributes__ = frozenset({  # type: ignore[assignment]
        "debug", "info", "warning", "warn", "error", "critical", "exception", "log", "setLevel", "isEnabledFor",
        "getEffectiveLevel", "name", "level", "addHandler", "removeHandler", "hasHandlers", "handlers", "propagate",
    })

    def __init__(self, name: str, parent: "Logger | None", last_resort: Handler) -> None:
        self.name = name
        self.level = 0
        self.handlers: list[Any] = []
        self.propagate = True
        self._parent = parent
        self._last_resort = last_resort

    def setLevel(self, level: object) -> None:
        """Set the lowest level that is written."""
        self.level = level_of(level)

    def getEffectiveLevel(self) -> int:
        """Return the lowest level that is written."""
        return self.level or (self._parent.level if self._parent else 0)

    def isEnabledFor(self, level: int) -> bool:
        """Return whether lines of this level are written."""
        return level_of(level) >= self.getEffectiveLevel()

    def _reached(self) -> list[Any]:
        above = self._parent.handlers if self._parent and self.propagate else []
        return [one for one in (*self.handlers, *above) if isinstance(one, Handler)]

    def hasHandlers(self) -> bool:
        """Return whether a line would reach a handler."""
        return bool(self._reached())

    def log(self, level: object, msg: object, *args: object, **_: object) -> None:
        """Write a line of some level."""
        number = level_of(level)
        if number >= self.getEffectiveLevel() and number > self._last_resort.disabled:
            record = Record(self.name, number, msg, args)
            for handler in self._reached() or [self._last_resort]:
                handler.handle(record)

    def debug(self, msg: object, *args: object, **options: object) -> None:
        """Write a line of level DEBUG."""
        self.log(LEVELS["DEBUG"], msg, *args, **options)

    def info(self, msg: object, *args: object, **options: object) -> None:
        """Write a line of level INFO."""
        self.log(LEVELS["INFO"], msg, *args, **options)

    def warning(self, msg: object, *args: object, **options: object) -> None:
        """Write a line of level WARNING."""
        self.log(LEVELS["WARNING"], msg, *args, **options)

    def error(self, msg: object, *args: object, **options: object) -> None:
        """Write a line of level ERROR."""
        self.log(LEVELS["ERROR"], msg, *args, **options)

    def critical(self, msg: object, *args: object, **options: object) -> None:
        """Write a line of level CRITICAL."""
        self.log(LEVELS["CRITICAL"], msg, *args, **options)

    warn = warning
    exception = error

    def addHandler(self, handler: object) -> None:
        """Write to a handler, too."""
        if handler not in self.handlers:
            self.handlers.append(handler)

    def removeHandler(self, handler: object) -> None:
        """Write to a handler no more."""
        if handler in self.handlers:
            self.handlers.remove(handler)


def level_of(level: Any) -> int:
    """Return the number of a level that is a number or a name."""
    if isinstance(level, str):
        if level not in LEVELS:
            raise ValueError(f"Unknown level: {level!r}")
        return LEVELS[level]
    return int(level)


def load_logging(machine: "Machine") -> Mapping[str, object]:
    """Return what `logging` offers."""
    last_resort = Handler(machine.on_error_output)
    last_resort.level = LEVELS["WARNING"]
    root = Logger("root", None, last_resort)
    root.level = LEVELS["WARNING"]
    loggers = {"": root, "root": root}

    def getLogger(name: str | None = None) -> Logger:
        """Return the logger of that name, the same each time."""
        key = name or ""
        return loggers.get(key) or loggers.setdefault(key, Logger(key, root, last_resort))

    def stream_handler(stream: object = None) -> Handler:
        """Return a handler that writes to a stream of the program, standard error if none is given."""
        return Handler(machine.on_error_output if stream is None else machine.guard.read(stream, "write"))

    def file_handler(filename: object, mode: str = "a", *_: object, **__: object) -> Handler:
        """Return a handler that writes to a file of the session."""
        return Handler(open(filename, mode).write)

    def null_handler(*_: object, **__: object) -> Handler:
        """Return a handler that writes nowhere."""
        return Handler()

    def basicConfig(**options: Any) -> None:
        """Set the level of the root and, where it has no handler yet, handlers and their format."""
        if root.handlers and not options.get("force"):
            return
        root.level = level_of(options.get("level", root.level))
        name = options.get("filename")
        only = file_handler(name, options.get("filemode", "a")) if name else stream_handler(options.get("stream"))
        handlers = options.get("handlers") or [only]
        form = Formatter(options.get("format", _FORMAT), options.get("datefmt"), options.get("style", "%"))
        for handler in handlers:
            if handler.formatter._template == "%(message)s":
                handler.setFormatter(form)
        root.handlers = list(handlers)

    def told(name: str) -> object:
        def tell(*args: object, **kwargs: object) -> None:
            if not root.handlers:
                basicConfig()
            getattr(root, name)(*args, **kwargs)

        return tell

    def disable(level: object = 50) -> None:
        """Let no logger write lines of this level or below."""
        last_resort.disabled = level_of(level)

    methods = {name: told(name) for name in ("debug", "info", "warning", "warn", "error", "critical", "exception", "log")}
    kinds = {"StreamHandler": stream_handler, "FileHandler": file_handler, "NullHandler": null_handler, "Formatter": Formatter}
    rotating = Library("logging.handlers", lambda: dict.fromkeys(_ROTATING, file_handler))
    others = {
        "WARN": LEVELS["WARNING"], "FATAL": LEVELS["CRITICAL"], "handlers": rotating, "getLogger": getLogger,
        "basicConfig": basicConfig, "disable": disable, "Logger": Logger, "root": root,
        "getLevelName": lambda level: _NAMES.get(level, f"Level {level}"),
    }
    return methods | kinds | LEVELS | others
