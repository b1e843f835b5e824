"""The tree of a program: every node's class, under the names of Python's `ast`.

It mirrors Python 3.11's `ast` (same classes, same fields, same spans), so that lowering is nearly mechanical. What
differs: every node has `span` (lines and columns from 1, in characters); operators are strings; there is no `ctx`, no
`kind`, no `type_comment`, no `is_async`; a `CommandRecord` is a statement of gradsh's own, and `Program` stands for `Module`.
What the language refuses (async, except*) has no node. The pattern of a `match_case` is an expression.
"""

from __future__ import annotations

from gradsh.language.command_line import OptionValue
from gradsh.language.node import SyntaxNode, expr, stmt
from gradsh.text.span import Source, Span

# --- expressions --------------------------------------------------------------------------------------------------


class BoolOp(expr):
    """`values[0] op values[1] op …`; op is `and` or `or`."""

    op: str
    values: list[expr]


class NamedExpr(expr):
    """`(target := value)`."""

    target: Name
    value: expr


class BinOp(expr):
    """`left op right`; op is one of `+ - * @ / // % ** << >> & ^ |`."""

    left: expr
    op: str
    right: expr


class UnaryOp(expr):
    """`op operand`; op is one of `- + ~ not`."""

    op: str
    operand: expr


class Lambda(expr):
    """`lambda args: body`."""

    args: arguments
    body: expr


class IfExp(expr):
    """`body if test else orelse`."""

    test: expr
    body: expr
    orelse: expr


class Dict(expr):
    """`{key: value, **more}`; the key of `**more` is None."""

    keys: list[expr | None]
    values: list[expr]


class Set(expr):
    """`{a, b}`."""

    elts: list[expr]


class ListComp(expr):
    """`[elt for …]`."""

    elt: expr
    generators: list[comprehension]


class SetComp(expr):
    """`{elt for …}`."""

    elt: expr
    generators: list[comprehension]


class DictComp(expr):
    """`{key: value for …}`."""

    key: expr
    value: expr
    generators: list[comprehension]


class GeneratorExp(expr):
    """`(elt for …)`."""

    elt: expr
    generators: list[comprehension]


class Yield(expr):
    """`yield value`."""

    value: expr | None


class YieldFrom(expr):
    """`yield from value`."""

    value: expr


class Compare(expr):
    """`left ops[0] comparators[0] ops[1] …`; ops are `== != < <= > >= is`, `is not`, `in`, `not in`."""

    left: expr
    ops: list[str]
    comparators: list[expr]


class Call(expr):
    """`func(args, keywords)`."""

    func: expr
    args: list[expr]
    keywords: list[keyword]


class FormattedValue(expr):
    """`{value!conversion:format_spec}` in an f-string; conversion is -1 or the code of `s`, `r`, `a`."""

    value: expr
    conversion: int
    format_spec: JoinedStr | None


class JoinedStr(expr):
    """An f-string: constants and formatted values."""

    values: list[expr]


class Constant(expr):
    """A number, string, True, False, None or Ellipsis."""

    value: object


class Attribute(expr):
    """`value.attr`."""

    value: expr
    attr: str


class Subscript(expr):
    """`value[slice]`."""

    value: expr
    slice: expr


class Starred(expr):
    """`*value`."""

    value: expr


class Name(expr):
    """A name, read or bound."""

    id: str


class List(expr):
    """`[a, b]`."""

    elts: list[expr]


class Tuple(expr):
    """`a, b`."""

    elts: list[expr]


class Slice(expr):
    """`lower:upper:step` in a subscript."""

    lower: expr | None
    upper: expr | None
    step: expr | None


class comprehension(SyntaxNode):  # noqa: N801
    """`for target in iter if ifs[0] …`."""

    target: expr
    iter: expr
    ifs: list[expr]


class arg(SyntaxNode):  # noqa: N801
    """One parameter. Its annotation is not evaluated; the names in it are read."""

    arg: str
    annotation: expr | None


class arguments(SyntaxNode):  # noqa: N801
    """The parameters of a function, laid out as in Python's `ast`."""

    posonlyargs: list[arg]
    args: list[arg]
    vararg: arg | None
    kwonlyargs: list[arg]
    kw_defaults: list[expr | None]
    kwarg: arg | None
    defaults: list[expr]


class keyword(SyntaxNode):  # noqa: N801
    """`arg=value` in a call; arg is None for `**value`."""

    arg: str | None
    value: expr


# --- statements, and gradsh's own: Command and Program ----------------------------------------------------------


class FunctionDef(stmt):
    """`def name(args): body`; the span begins at `def`, below the decorators."""

    name: str
    args: arguments
    body: list[stmt]
    decorator_list: list[expr]
    returns: expr | None


class ClassDef(stmt):
    """`class name(bases, keywords): body`."""

    name: str
    bases: list[expr]
    keywords: list[keyword]
    body: list[stmt]
    decorator_list: list[expr]


class Return(stmt):
    """`return value`."""

    value: expr | None


class Delete(stmt):
    """`del targets`."""

    targets: list[expr]


class Assign(stmt):
    """`targets[0] = targets[1] = … = value`."""

    targets: list[expr]
    value: expr


class AugAssign(stmt):
    """`target op= value`; op is without its `=`."""

    target: expr
    op: str
    value: expr


class AnnAssign(stmt):
    """`target: annotation = value`; simple is 1 for a bare name."""

    target: expr
    annotation: expr
    value: expr | None
    simple: int


class For(stmt):
    """`for target in iter: body else: orelse`."""

    target: expr
    iter: expr
    body: list[stmt]
    orelse: list[stmt]


class While(stmt):
    """`while test: body else: orelse`."""

    test: expr
    body: list[stmt]
    orelse: list[stmt]


class If(stmt):
    """`if test: body else: orelse`; an `elif` is an If alone in orelse."""

    test: expr
    body: list[stmt]
    orelse: list[stmt]


class Match(stmt):
    """`match subject: cases`."""

    subject: expr
    cases: list[match_case]


class match_case(SyntaxNode):  # noqa: N801
    """`case pattern if guard: body`. The pattern is the expression that it is written as; `P as name` is `name := P`."""

    pattern: expr
    guard: expr | None
    body: list[stmt]


class With(stmt):
    """`with items: body`."""

    items: list[withitem]
    body: list[stmt]


class Raise(stmt):
    """`raise exc from cause`."""

    exc: expr | None
    cause: expr | None


class Try(stmt):
    """`try: body except …: handlers else: orelse finally: finalbody`."""

    body: list[stmt]
    handlers: list[ExceptHandler]
    orelse: list[stmt]
    finalbody: list[stmt]


class Assert(stmt):
    """`assert test, msg`."""

    test: expr
    msg: expr | None


class Import(stmt):
    """`import a.b as c`."""

    names: list[alias]


class ImportFrom(stmt):
    """`from module import names`; level counts the leading dots."""

    module: str | None
    names: list[alias]
    level: int


class Global(stmt):
    """`global names`."""

    names: list[str]


class Nonlocal(stmt):
    """`nonlocal names`."""

    names: list[str]


class Expr(stmt):
    """An expression as a statement."""

    value: expr


class Pass(stmt):
    """`pass`."""


class Break(stmt):
    """`break`."""


class Continue(stmt):
    """`continue`."""


class ExceptHandler(SyntaxNode):
    """`except type as name: body`."""

    type: expr | None
    name: str | None
    body: list[stmt]


class alias(SyntaxNode):  # noqa: N801
    """`name as asname` in an import."""

    name: str
    asname: str | None


class withitem(SyntaxNode):  # noqa: N801
    """`context_expr as optional_vars`."""

    context_expr: expr
    optional_vars: expr | None


class Command(stmt):
    """A command line: `name arguments… --option value…`, and for some commands a statement as its tail.

    `arguments` are expressions; a word, a file name and the rest of a line are Constants of their text. `options` is
    keyed by the option's name without dashes, as the grammar spells it. `text` is the command line as it was written.
    """

    _fields = ("name", "arguments", "options", "tail", "text")
    name: str
    name_span: Span
    arguments: list[expr]
    options: dict[str, OptionValue]
    tail: stmt | None
    text: str


class Program(SyntaxNode):
    """A whole source: its statements, and the source itself."""

    _fields = ("body",)
    body: list[stmt]
    source: Source
