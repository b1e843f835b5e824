"""`argparse` over a program's own arguments (`--args`): Python's parser, with its output and its exit taken over."""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn

from gradsh.engine.attribute_names import check_ordinary
from gradsh.runtime.library import listed
from gradsh.runtime.standard import Namespace
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

_OPTIONS = frozenset({"prog", "usage", "description", "epilog", "parents", "add_help", "allow_abbrev", "argument_default",
                      "conflict_handler", "formatter_class"})  # fmt: skip
"""What a parser may be given. `fromfile_prefix_chars` would read files."""
_TEXTS = frozenset({"prog", "usage", "description", "epilog", "help", "version", "title", "dest", "conflict_handler"})
"""What is given as text: the parser hands its own parts to the operators of anything else."""
_FORMATTERS = "ArgumentDefaultsHelpFormatter RawTextHelpFormatter RawDescriptionHelpFormatter"
_ACTIONS = frozenset({"store", "store_const", "store_true", "store_false", "append", "append_const", "extend", "count",
                      "help", "version"})  # fmt: skip


def _check_texts(options: Mapping[str, object]) -> None:
    for name in _TEXTS & options.keys():
        if type(options[name]) not in {str, NoneType}:
            raise fail("type", f"{name} takes a text, not {type(options[name]).__name__}", TypeError)


class ArgumentGroup:
    """A parser, or a group of a parser's arguments, as a script holds it."""

    __script_attributes__ = frozenset({
        "add_argument", "add_argument_group", "add_mutually_exclusive_group", "set_defaults", "get_default",
    })

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def add_argument(self, *names: str, action: object = None, **options: object) -> None:
        """Declare an argument, as argparse's own method does."""
        if action is not None and action is not argparse.BooleanOptionalAction:
            if not isinstance(action, str) or action not in _ACTIONS:
                raise fail("value", f"unknown action {action!r}: write one of {', '.join(sorted(_ACTIONS))}", ValueError)
            options["action"] = action
        elif action is not None:
            options["action"] = action
        _check_texts(options)
        check_ordinary(self, options.get("dest", "name"))
        made = self._inner.add_argument(*names, **options)
        check_ordinary(self, made.dest)

    def add_argument_group(self, *texts: str, **options: str) -> "ArgumentGroup":
        """Return a group of arguments that help shows together."""
        _check_texts(options | dict(zip(("title", "description"), texts, strict=False)))
        return ArgumentGroup(self._inner.add_argument_group(*texts, **options))

    def add_mutually_exclusive_group(self, *, required: bool = False) -> "ArgumentGroup":
        """Return a group of which only one argument may be given."""
        return ArgumentGroup(self._inner.add_mutually_exclusive_group(required=required))

    def set_defaults(self, **defaults: Any) -> None:
        """Set defaults, also of names that no argument has."""
        for name in defaults:
            check_ordinary(self, name)
        self._inner.set_defaults(**defaults)

    def get_default(self, dest: str) -> object:
        """Return the default of an argument."""
        return self._inner.get_default(dest)


class Parser(ArgumentGroup):
    """`argparse.ArgumentParser`."""

    __module__ = "argparse"
    __script_attributes__ = ArgumentGroup.__script_attributes__ | {
        "parse_args", "parse_known_args", "print_help", "format_help", "print_usage", "format_usage", "error", "exit",
        "add_subparsers",
    }

    def __init__(self, machine: "Machine", make: Callable[..., Any], **options: Any) -> None:
        refused = options.keys() - _OPTIONS
        if refused:
            raise fail("type", f"ArgumentParser takes no {min(refused)} here: it would read files", TypeError)
        _check_texts(options)
        if options.get("formatter_class") not in {None, *listed(argparse, _FORMATTERS).values()}:
            raise fail("type", f"formatter_class is one of {', '.join(_FORMATTERS.split())} here", TypeError)
        parents = [parent._inner for parent in options.pop("parents", ()) if isinstance(parent, Parser)]
        self._machine = machine
        super().__init__(make(parents=parents, **options))

    def add_subparsers(self, *, required: bool = False, metavar: str | None = None, **texts: str) -> "CommandParsers":
        """Return what makes a parser for each command of the program."""
        if texts.keys() - {"title", "description", "prog", "dest", "help"}:
            raise fail("type", "add_subparsers() takes title, description, prog, dest, help, metavar and required here", TypeError)
        _check_texts(texts | {"help": metavar} if metavar is not None else texts)
        check_ordinary(self, texts.get("dest") or "name")
        make = partial(_Quiet, self._machine)
        return CommandParsers(self._machine, self._inner.add_subparsers(required=required, metavar=metavar, parser_class=make, **texts))

    def parse_args(self, args: list[str] | None = None, namespace: object = None) -> Namespace:
        """Return the values of the program's arguments, or of those that are given as a list."""
        given = self._machine.arguments[1:] if args is None else [str(one) for one in args]
        found: Namespace = self._inner.parse_args(given, _namespace(namespace))
        return found

    def parse_known_args(self, args: Any = None, namespace: object = None) -> tuple[Namespace, list[str]]:
        """Return the values of the arguments that were declared, and the other arguments."""
        given = self._machine.arguments[1:] if args is None else [str(one) for one in args]
        found: tuple[Namespace, list[str]] = self._inner.parse_known_args(given, _namespace(namespace))
        return found

    def print_help(self) -> None:
        """Print what `--help` prints."""
        self._machine.on_print(self._inner.format_help())

    def print_usage(self) -> None:
        """Print the line of usage."""
        self._machine.on_print(self._inner.format_usage())

    def format_help(self) -> str:
        """Return what `--help` prints."""
        return str(self._inner.format_help())

    def format_usage(self) -> str:
        """Return the line of usage."""
        return str(self._inner.format_usage())

    def error(self, message: str) -> NoReturn:
        """End the program with status 2."""
        raise self._inner.ended(2, f"{self.format_usage()}error: {message}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the program."""
        raise self._inner.ended(status, message)


class CommandParsers:
    """What `add_subparsers` gives: it makes a parser for each command."""

    __script_attributes__ = frozenset({"add_parser"})

    def __init__(self, machine: "Machine", inner: Any) -> None:
        self._machine = machine
        self._inner = inner

    def add_parser(self, name: str, *, help: str | None = None, aliases: Any = (), **options: object) -> Parser:
        """Return the parser of a command's arguments."""
        texts = [name, *aliases]
        if not all(type(text) is str for text in texts):
            raise fail("type", "add_parser() takes texts as names", TypeError)
        shown = {} if help is None else {"help": help}
        _check_texts(shown)
        return Parser(self._machine, partial(self._inner.add_parser, name, aliases=texts[1:], **shown), **options)


def _namespace(given: object) -> Namespace:
    """Return where the values go: the parser sets its attributes without asking the guard."""
    if given is None or isinstance(given, Namespace):
        return Namespace() if given is None else given
    raise fail("type", f"the values go into an argparse.Namespace here, not {type(given).__name__}", TypeError)


class _Quiet(argparse.ArgumentParser):
    """Python's parser; what it would write to the process's streams is told by the machine."""

    def __init__(self, machine: "Machine", **options: Any) -> None:
        self._machine = machine
        super().__init__(**options)

    def _print_message(self, message: str, file: object = None) -> None:
        del file
        self._machine.on_print(message)

    def ended(self, status: int, message: str | None) -> SystemExit:
        if message:
            self._machine.on_error_output(f"{message}\n")
        return SystemExit(status)

    def error(self, message: str) -> NoReturn:
        raise self.ended(2, f"{self.format_usage()}{self.prog}: error: {message}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise self.ended(status, message)


def load_argparse(machine: "Machine") -> Mapping[str, object]:
    """Return what `argparse` offers."""
    def argument_parser(prog: str | None = None, usage: str | None = None, description: str | None = None, **options: object) -> Parser:
        """Return a parser of the program's arguments."""
        given = {"prog": prog, "usage": usage, "description": description}
        options |= {name: text for name, text in given.items() if text is not None}
        return Parser(machine, partial(_Quiet, machine), **{"prog": machine.arguments[0] or "gradsh", **options})

    make: Callable[..., Parser] = argument_parser
    make.__name__ = make.__qualname__ = "ArgumentParser"
    names = f"{_FORMATTERS} BooleanOptionalAction ArgumentTypeError ArgumentError SUPPRESS"
    return listed(argparse, names) | {"ArgumentParser": make, "Namespace": Namespace}
