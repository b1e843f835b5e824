"""The statements of the tree, named and laid out as in Python's `ast`, and gradsh's own: Command and Program."""

from __future__ import annotations

from gradsh.language.expressions import arguments, keyword
from gradsh.language.node import Node, expr, stmt
from gradsh.text.span import Source, Span
from gradsh.text.tuples import NamedTuple


class FunctionDef(stmt):
    """`def name(args): body`; the span begins at `def`, below the decorators."""

    _fields = ("name", "args", "body", "decorator_list", "returns")
    __slots__ = _fields

    def __init__(
        self, span: Span, name: str, args: arguments, body: list[stmt], decorator_list: list[expr],
        returns: expr | None,
    ) -> None:
        self.span = span
        self.name = name
        self.args = args
        self.body = body
        self.decorator_list = decorator_list
        self.returns = returns


class ClassDef(stmt):
    """`class name(bases, keywords): body`."""

    _fields = ("name", "bases", "keywords", "body", "decorator_list")
    __slots__ = _fields

    def __init__(
        self, span: Span, name: str, bases: list[expr], keywords: list[keyword], body: list[stmt],
        decorator_list: list[expr],
    ) -> None:
        self.span = span
        self.name = name
        self.bases = bases
        self.keywords = keywords
        self.body = body
        self.decorator_list = decorator_list


class Return(stmt):
    """`return value`."""

    _fields = ("value",)
    __slots__ = _fields

    def __init__(self, span: Span, value: expr | None) -> None:
        self.span = span
        self.value = value


class Delete(stmt):
    """`del targets`."""

    _fields = ("targets",)
    __slots__ = _fields

    def __init__(self, span: Span, targets: list[expr]) -> None:
        self.span = span
        self.targets = targets


class Assign(stmt):
    """`targets[0] = targets[1] = … = value`."""

    _fields = ("targets", "value")
    __slots__ = _fields

    def __init__(self, span: Span, targets: list[expr], value: expr) -> None:
        self.span = span
        self.targets = targets
        self.value = value


class AugAssign(stmt):
    """`target op= value`; op is without its `=`."""

    _fields = ("target", "op", "value")
    __slots__ = _fields

    def __init__(self, span: Span, target: expr, op: str, value: expr) -> None:
        self.span = span
        self.target = target
        self.op = op
        self.value = value


class AnnAssign(stmt):
    """`target: annotation = value`; simple is 1 for a bare name."""

    _fields = ("target", "annotation", "value", "simple")
    __slots__ = _fields

    def __init__(self, span: Span, target: expr, annotation: expr, value: expr | None, simple: int) -> None:
        self.span = span
        self.target = target
        self.annotation = annotation
        self.value = value
        self.simple = simple


class For(stmt):
    """`for target in iter: body else: orelse`."""

    _fields = ("target", "iter", "body", "orelse")
    __slots__ = _fields

    def __init__(self, span: Span, target: expr, iter: expr, body: list[stmt], orelse: list[stmt]) -> None:
        self.span = span
        self.target = target
        self.iter = iter
        self.body = body
        self.orelse = orelse


class While(stmt):
    """`while test: body else: orelse`."""

    _fields = ("test", "body", "orelse")
    __slots__ = _fields

    def __init__(self, span: Span, test: expr, body: list[stmt], orelse: list[stmt]) -> None:
        self.span = span
        self.test = test
        self.body = body
        self.orelse = orelse


class If(stmt):
    """`if test: body else: orelse`; an `elif` is an If alone in orelse."""

    _fields = ("test", "body", "orelse")
    __slots__ = _fields

    def __init__(self, span: Span, test: expr, body: list[stmt], orelse: list[stmt]) -> None:
        self.span = span
        self.test = test
        self.body = body
        self.orelse = orelse


class Match(stmt):
    """`match subject: cases`."""

    _fields = ("subject", "cases")
    __slots__ = _fields

    def __init__(self, span: Span, subject: expr, cases: list[match_case]) -> None:
        self.span = span
        self.subject = subject
        self.cases = cases


class match_case(Node):  # noqa: N801
    """`case pattern if guard: body`. The pattern is the expression that it is written as; `P as name` is `name := P`."""

    _fields = ("pattern", "guard", "body")
    __slots__ = _fields

    def __init__(self, span: Span, pattern: expr, guard: expr | None, body: list[stmt]) -> None:
        self.span = span
        self.pattern = pattern
        self.guard = guard
        self.body = body


class With(stmt):
    """`with items: body`."""

    _fields = ("items", "body")
    __slots__ = _fields

    def __init__(self, span: Span, items: list[withitem], body: list[stmt]) -> None:
        self.span = span
        self.items = items
        self.body = body


class Raise(stmt):
    """`raise exc from cause`."""

    _fields = ("exc", "cause")
    __slots__ = _fields

    def __init__(self, span: Span, exc: expr | None, cause: expr | None) -> None:
        self.span = span
        self.exc = exc
        self.cause = cause


class Try(stmt):
    """`try: body except …: handlers else: orelse finally: finalbody`."""

    _fields = ("body", "handlers", "orelse", "finalbody")
    __slots__ = _fields

    def __init__(
        self, span: Span, body: list[stmt], handlers: list[ExceptHandler], orelse: list[stmt], finalbody: list[stmt],
    ) -> None:
        self.span = span
        self.body = body
        self.handlers = handlers
        self.orelse = orelse
        self.finalbody = finalbody


class Assert(stmt):
    """`assert test, msg`."""

    _fields = ("test", "msg")
    __slots__ = _fields

    def __init__(self, span: Span, test: expr, msg: expr | None) -> None:
        self.span = span
        self.test = test
        self.msg = msg


class Import(stmt):
    """`import a.b as c`."""

    _fields = ("names",)
    __slots__ = _fields

    def __init__(self, span: Span, names: list[alias]) -> None:
        self.span = span
        self.names = names


class ImportFrom(stmt):
    """`from module import names`; level counts the leading dots."""

    _fields = ("module", "names", "level")
    __slots__ = _fields

    def __init__(self, span: Span, module: str | None, names: list[alias], level: int) -> None:
        self.span = span
        self.module = module
        self.names = names
        self.level = level


class Global(stmt):
    """`global names`."""

    _fields = ("names",)
    __slots__ = _fields

    def __init__(self, span: Span, names: list[str]) -> None:
        self.span = span
        self.names = names


class Nonlocal(stmt):
    """`nonlocal names`."""

    _fields = ("names",)
    __slots__ = _fields

    def __init__(self, span: Span, names: list[str]) -> None:
        self.span = span
        self.names = names


class Expr(stmt):
    """An expression as a statement."""

    _fields = ("value",)
    __slots__ = _fields

    def __init__(self, span: Span, value: expr) -> None:
        self.span = span
        self.value = value


class Pass(stmt):
    """`pass`."""

    _fields = ()
    __slots__ = _fields


class Break(stmt):
    """`break`."""

    _fields = ()
    __slots__ = _fields


class Continue(stmt):
    """`continue`."""

    _fields = ()
    __slots__ = _fields


class ExceptHandler(Node):
    """`except type as name: body`."""

    _fields = ("type", "name", "body")
    __slots__ = _fields

    def __init__(self, span: Span, type: expr | None, name: str | None, body: list[stmt]) -> None:
        self.span = span
        self.type = type
        self.name = name
        self.body = body


class alias(Node):  # noqa: N801
    """`name as asname` in an import."""

    _fields = ("name", "asname")
    __slots__ = _fields

    def __init__(self, span: Span, name: str, asname: str | None) -> None:
        self.span = span
        self.name = name
        self.asname = asname


class withitem(Node):  # noqa: N801
    """`context_expr as optional_vars`."""

    _fields = ("context_expr", "optional_vars")
    __slots__ = _fields

    def __init__(self, span: Span, context_expr: expr, optional_vars: expr | None) -> None:
        self.span = span
        self.context_expr = context_expr
        self.optional_vars = optional_vars


class OptionValue(NamedTuple):
    """What a command line gave for an option: where (the option with its values), and True, one value, or all of them.

    A word or a file name is a Constant of its text.
    """

    span: Span
    value: bool | expr | list[expr]


class Command(stmt):
    """A command line: `name arguments… --option value…`, and for some commands a statement as its tail.

    `arguments` are expressions; a word, a file name and the rest of a line are Constants of their text. `options` is
    keyed by the option's name without dashes, as the grammar spells it. `text` is the command line as it was written.
    """

    _fields = ("name", "arguments", "options", "tail", "text")
    __slots__ = ("arguments", "name", "name_span", "options", "tail", "text")

    def __init__(
        self, span: Span, name: str, name_span: Span, arguments: list[expr], options: dict[str, OptionValue],
        tail: stmt | None, text: str,
    ) -> None:
        self.span = span
        self.name = name
        self.name_span = name_span
        self.arguments = arguments
        self.options = options
        self.tail = tail
        self.text = text


class Program(Node):
    """A whole source: its statements, and the source itself."""

    _fields = ("body",)
    __slots__ = ("body", "source")

    def __init__(self, span: Span, body: list[stmt], source: Source) -> None:
        self.span = span
        self.body = body
        self.source = source
