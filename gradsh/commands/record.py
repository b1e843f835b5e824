"""What a command is: a `run` function whose signature is its grammar, and a `view` that shapes its report.

    @command("buffers", "List the tensors saved for backward.", examples=["buffers --live"])
    def run(state: State, *targets: Tensor, live: bool = False, sort: Literal["line", "bytes"] = "line") -> Report: ...

    def view(report: Report) -> View: ...

Positional parameters are arguments, keyword-only ones are options. Annotations decide what the parser reads:

    Tensor                 T          an expression that must give a tensor
    object, int, float     E, N       an expression
    Name, Word, File, Text NAME …     a variable's name, a bare word, a file name, the rest of the line
    Size                   SIZE       a number of bytes such as 24G, as a bare word
    KindName               KIND       a kind of error
    Lazy                   EXPR       an expression handed over unevaluated, as a function without parameters
    Tail                   STATEMENT  the rest of the line as a statement, as a function that runs it
    AfterColon             : STATEMENT   the same, after a colon
    Literal["a", "b"]      a|b        one of these words
    bool                   --flag
    list[X]                [--grad E]…      one value each time the option is given
    tuple[X, ...]          [--inputs T…]    several values after one option

`first: Tensor, *more: Tensor` reads at least one, `*targets: Tensor` any number.

`usage_of` writes this as one line, which is also what stands in the list of commands (`commands/__init__.py`), so
that the parser knows every grammar without importing a single command.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NewType, get_args, get_origin, get_type_hints

from gradsh.engine.graph.tensor import Tensor
from gradsh.runtime.machine import Invocation
from gradsh.text.fault import fail
from gradsh.text.tuples import NamedTuple

if TYPE_CHECKING:
    from gradsh.contracts.state import State

Name = NewType("Name", str)
Word = NewType("Word", str)
Size = NewType("Size", str)
"""A number of bytes such as 500M or 24G, as it is written."""
File = NewType("File", str)
Text = NewType("Text", str)
KindName = NewType("KindName", str)
Lazy = NewType("Lazy", object)
"""A function without parameters that evaluates the expression where the command stands."""
Tail = NewType("Tail", object)
"""A function without parameters that runs the statement where the command stands."""

AfterColon = NewType("AfterColon", object)
"""The same for `expect error KIND: STATEMENT`."""

METAVARS: dict[object, str] = {
    Name: "NAME", KindName: "KIND", Word: "WORD", Size: "SIZE", File: "FILE", Text: "TEXT", Lazy: "EXPR", Tail: "STATEMENT",
    AfterColon: ": STATEMENT", int: "N", float: "X", str: "STR",
}
_VARIADIC = 4
"""The flag of a code object whose function takes `*args` (`inspect.CO_VARARGS`; importing that costs a start of a script a twentieth)."""
WANTED: dict[str, tuple[type, ...]] = {"N": (int,), "X": (int, float), "STR": (str,)}


class CommandParameter(NamedTuple):
    """An argument or option of a command.

    `many`: "" for one value, "each" for one every time the option is given, "many" for several at once;
    `metavar`: what a value is, empty for a flag; `choices`: the words allowed, if these are all.
    """

    name: str
    option: bool
    metavar: str
    many: Literal["", "each", "many"] = ""
    optional: bool = False
    choices: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        """The parameter as a usage line has it."""
        value = "|".join(self.choices) or self.metavar
        if not self.option:
            text = value + ("…" if self.many else "")
            return f"[{text}]" if self.optional and not value.endswith("STATEMENT") else text
        text = f"--{self.name.rstrip('_').replace('_', '-')}"
        if value:
            text += f" {value}" + ("…" if self.many == "many" else "")
        return f"[{text}]" + ("…" if self.many == "each" else "")


class CommandRecord:
    """A command's record: name, one-line description, examples (each runs as it stands), `run` and `view`."""

    __slots__ = ("doc", "examples", "name", "run")

    def __init__(self, name: str, doc: str, run: Callable[..., object], examples: Sequence[str]) -> None:
        self.name = name
        self.doc = doc
        self.run = run
        self.examples = tuple(examples)

    @property
    def view(self) -> Callable[[Any], Any]:
        """The function `view` that stands beside `run` in the command's file."""
        view: Callable[[Any], Any] = vars(sys.modules[self.run.__module__])["view"]
        return view

    def parameters(self) -> tuple[CommandParameter, ...]:
        """Return the arguments and options, as the signature of `run` has them."""
        hints = self.run.__annotations__
        if any(isinstance(hint, str) for name, hint in hints.items() if name != "return"):
            hints = get_type_hints(self.run)
        code, names = self.run.__code__, self.run.__code__.co_varnames
        end = code.co_argcount + code.co_kwonlyargcount
        required = names[: code.co_argcount - len(self.run.__defaults__ or ())]
        found = [_parameter(name, hints[name], optional=name not in required) for name in names[1 : code.co_argcount]]
        if code.co_flags & _VARIADIC:
            found.append(_parameter(names[end], hints[names[end]], optional=True, many="many"))
        return (*found, *(_parameter(name, hints[name], optional=True, option=True) for name in names[code.co_argcount : end]))

    def usage(self) -> str:
        """Return the arguments and options as one line: the command's grammar."""
        parameters = _joined(self.parameters())
        options = [parameter.usage for parameter in parameters if parameter.option]
        places = [parameter.usage for parameter in parameters if not parameter.option]
        tail = bool(places) and places[-1].endswith("STATEMENT")
        return " ".join([*options, *places] if tail else [*places, *options]).replace(" : ", ": ")

    def call(self, invocation: Invocation, state: Any) -> Any:
        """Evaluate the arguments as the signature asks for, check them, and run the command; return its report.

        Raises TypeError (kind `type`) for a value that is not what the parameter asks for.
        """
        parameters = self.parameters()
        places = [one for one in parameters if not one.option and not one.metavar.endswith("STATEMENT")]
        arguments = [
            _value(self.name, places[min(i, len(places) - 1)], node, thunk)
            for i, (node, thunk) in enumerate(zip(invocation.command.arguments, invocation.arguments, strict=True))
        ]
        given: dict[str, Any] = {}
        for parameter in parameters:
            key = parameter.name.rstrip("_").replace("_", "-")
            if parameter.metavar.endswith("STATEMENT"):
                given[parameter.name] = invocation.tail
            elif parameter.option and key in invocation.options:
                node = invocation.command.options[key].value
                given[parameter.name] = _option_value(self.name, parameter, node, invocation.options[key])
        return self.run(state, *arguments, **given)

    def call_with(self, state: Any, arguments: Sequence[object], given: Mapping[str, object]) -> Any:
        """Run the command on values that Python code passes, checked as `call` checks them."""
        parameters = self.parameters()
        places = [one for one in parameters if not one.option]
        for i, value in enumerate(arguments):
            _check(self.name, places[min(i, len(places) - 1)], value)
        for parameter in parameters:
            for value in _each(given[parameter.name]) if parameter.name in given else ():
                _check(self.name, parameter, value)
        return self.run(state, *arguments, **given)


def command(name: str, doc: str, *, examples: Sequence[str] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the record of a command of the function below; it stands in the function's attribute `__command__`."""

    def attach(run: Callable[..., object]) -> Callable[..., object]:
        run.__command__ = CommandRecord(name, doc, run, examples)  # type: ignore[attr-defined]
        return run

    return attach


def check_alone(state: State, name: str) -> None:
    """Refuse a command inside a block: kind `value`."""
    if not state.call.top:
        raise fail("value", f"{name} works only at the top level, not inside a loop or a function", ValueError)


def _parameter(
    name: str, hint: object, *, optional: bool, option: bool = False, many: Literal["", "each", "many"] = ""
) -> CommandParameter:
    hint = _without_none(hint)
    if get_origin(hint) in {list, tuple}:
        many = "each" if get_origin(hint) is list else "many"
        hint = get_args(hint)[0]
    if option and hint is bool:
        return CommandParameter(name, True, "", many, True)
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    metavar = "" if choices else METAVARS.get(hint) or ("T" if _is_tensor(hint) else "E")
    return CommandParameter(name, option, metavar or "WORD", many, optional, choices)


def _joined(parameters: Sequence[CommandParameter]) -> list[CommandParameter]:
    """The parameters with `first: T, *more: T` made one: at least one T."""
    out: list[CommandParameter] = []
    for parameter in parameters:
        before = out[-1] if out else None
        if parameter.many and not parameter.option and before is not None and before.metavar == parameter.metavar:
            out[-1] = before._replace(many="many")
        else:
            out.append(parameter)
    return out


def _without_none(hint: object) -> object:
    rest = [part for part in get_args(hint) if part is not type(None)]
    return rest[0] if type(None) in get_args(hint) and len(rest) == 1 else hint


def _is_tensor(hint: object) -> bool:
    return getattr(hint, "__name__", "") == "Tensor"


def _option_value(name: str, parameter: CommandParameter, node: Any, thunks: Any) -> object:
    if not parameter.metavar and not parameter.choices:
        return True
    if not isinstance(thunks, list):
        return _value(name, parameter, node, thunks)
    values = [_value(name, parameter, one, thunk) for one, thunk in zip(node, thunks, strict=True)]
    return tuple(values) if parameter.many == "many" else values


def _value(name: str, parameter: CommandParameter, node: Any, thunk: Callable[[], object]) -> Any:
    """The value of an argument: evaluated, or as the parameter wants it (unevaluated, a name's text)."""
    if parameter.metavar == "EXPR":
        return thunk
    if parameter.metavar == "NAME":
        return node.id
    value = thunk()
    _check(name, parameter, value)
    return value


def _check(name: str, parameter: CommandParameter, value: object) -> None:
    """Raise unless `value` is what the parameter asks for; expressions of any type pass where any is asked for."""
    where = f"option --{parameter.name.rstrip('_').replace('_', '-')}" if parameter.option else "argument"
    if parameter.choices and value not in parameter.choices:
        raise fail("value", f"{name}: {where} must be one of {', '.join(parameter.choices)}, not {value!r}", ValueError)
    if parameter.metavar == "T" and not isinstance(value, Tensor):
        raise fail("type", f"{name}: {where} must be Tensor, not {type(value).__name__}", TypeError, value=value)
    wanted = WANTED.get(parameter.metavar)
    if wanted is not None and (not isinstance(value, wanted) or isinstance(value, bool)):
        kind = {"N": "an integer", "X": "a number", "STR": "a string"}[parameter.metavar]
        raise fail("type", f"{name}: {where} must be {kind}, not {type(value).__name__}", TypeError, value=value)


def _each(value: object) -> Sequence[object]:
    return value if isinstance(value, tuple) else (value,)
