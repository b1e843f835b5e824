"""Parameters of scripts: top-level assignments of a literal that a comment `#@param` marks, set by `--set name=value`.

    lr = 0.1        #@param learning rate
    steps = 100     #@param

The script stays what it is; the value given takes the literal's place and must be of the literal's type.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gradsh.commands import GRAMMARS
from gradsh.language.node import expr
from gradsh.language.parser import MAX_TEXT, parse
from gradsh.language.paste import clean
from gradsh.language.tree import Assign, Constant, Name, Program, UnaryOp
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source
from gradsh.view.shapes import Column, Row, Table

MARK = re.compile(r"#@\s*param\b[ \t:]*(?P<about>.*)$")
TYPES = {bool: "bool", int: "int", float: "float", str: "str"}
TRUE, FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})


class ScriptParameter(NamedTuple):
    """A parameter: its name, type and default, the line that assigns it, and what its comment says."""

    name: str
    type: str
    default: bool | int | float | str
    line: int
    about: str


class WrongValueError(ValueError):
    """A value that is not of its parameter's type; the text is a sentence."""


def parameters_of(program: Program) -> list[ScriptParameter]:
    """Return the parameters of a script, in the order of their lines."""
    return [parameter for _, parameter in _marked(program)]


def _marked(program: Program) -> Iterator[tuple[Assign, ScriptParameter]]:
    for statement in program.body:
        if not isinstance(statement, Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], _literal(statement.value)
        mark = MARK.search(_rest(program.source, statement))
        if mark and isinstance(target, Name) and type(value) in TYPES:
            line = statement.span.line
            yield statement, ScriptParameter(target.id, TYPES[type(value)], value, line, mark["about"].strip())  # type: ignore[arg-type]


def _rest(source: Source, statement: Assign) -> str:
    """What follows a statement on its last line."""
    return source.line(statement.span.end_line)[statement.span.end_column - 1 :]


def _literal(value: expr) -> object:
    if isinstance(value, UnaryOp) and value.op == "-" and isinstance(value.operand, Constant):
        number = value.operand.value
        return -number if isinstance(number, int | float) and not isinstance(number, bool) else None
    return value.value if isinstance(value, Constant) else None


def set_parameters(program: Program, given: Mapping[str, str]) -> None:
    """Put the values in the place of the literals. Names that the script does not have are left to the caller.

    Raises WrongValueError for a value that is not of the parameter's type.
    """
    for statement, parameter in _marked(program):
        if parameter.name in given:
            statement.value = Constant(statement.value.span, converted(parameter, given[parameter.name]))


def converted(parameter: ScriptParameter, text: str) -> bool | int | float | str:
    """Return the value that `text` stands for, as the parameter's type."""
    if parameter.type == "str":
        return text
    if parameter.type == "bool" and text.lower() in TRUE | FALSE:
        return text.lower() in TRUE
    try:
        if parameter.type == "int":
            return int(text, 0)
        if parameter.type == "float":
            return float(text)
    except ValueError:
        pass
    raise WrongValueError(f"{parameter.name} is {_article(parameter.type)}, not {text!r}")


def _article(kind: str) -> str:
    return "an int" if kind == "int" else f"a {kind}"


def parameters_in(name: str, text: str) -> list[ScriptParameter]:
    """Return the parameters of a script's text; none where it does not parse (running it says why)."""
    try:
        return parameters_of(parse(Source(name, clean(text[: MAX_TEXT + 1])[0]), GRAMMARS))
    except ProblemError:
        return []


def wrong_values(known: Sequence[ScriptParameter], given: Mapping[str, str]) -> str:
    """Return a sentence about the first value that no parameter can take, or an empty string."""
    for name, text in given.items():
        mine = [parameter for parameter in known if parameter.name == name]
        if not mine:
            listed = ", ".join(dict.fromkeys(f"{one.name} ({one.type})" for one in known))
            return f"there is no parameter {name}; " + (f"there are {listed}" if listed else "there is none")
        try:
            converted(mine[0], text)
        except WrongValueError as error:
            return str(error)
    return ""


def parameter_table(parameters: Sequence[ScriptParameter]) -> Table:
    """Return the parameters as a table."""
    columns = (Column("name"), Column("type"), Column("default"), Column("line", "line"), Column("about"))
    rows = tuple(Row((one.name, one.type, repr(one.default), one.line, one.about)) for one in parameters)
    return Table(columns, rows, empty="no parameters: mark one as `name = 1  #@param what it is`")
