"""The expressions of the tree, named and laid out as in Python's `ast`; operators are strings, there is no `ctx`."""

from __future__ import annotations

from gradsh.language.node import Node, expr
from gradsh.text.span import Span


class BoolOp(expr):
    """`values[0] op values[1] op …`; op is `and` or `or`."""

    _fields = ("op", "values")
    __slots__ = _fields

    def __init__(self, span: Span, op: str, values: list[expr]) -> None:
        self.span = span
        self.op = op
        self.values = values


class NamedExpr(expr):
    """`(target := value)`."""

    _fields = ("target", "value")
    __slots__ = _fields

    def __init__(self, span: Span, target: Name, value: expr) -> None:
        self.span = span
        self.target = target
        self.value = value


class BinOp(expr):
    """`left op right`; op is one of `+ - * @ / // % ** << >> & ^ |`."""

    _fields = ("left", "op", "right")
    __slots__ = _fields

    def __init__(self, span: Span, left: expr, op: str, right: expr) -> None:
        self.span = span
        self.left = left
        self.op = op
        self.right = right


class UnaryOp(expr):
    """`op operand`; op is one of `- + ~ not`."""

    _fields = ("op", "operand")
    __slots__ = _fields

    def __init__(self, span: Span, op: str, operand: expr) -> None:
        self.span = span
        self.op = op
        self.operand = operand


class Lambda(expr):
    """`lambda args: body`."""

    _fields = ("args", "body")
    __slots__ = _fields

    def __init__(self, span: Span, args: arguments, body: expr) -> None:
        self.span = span
        self.args = args
        self.body = body


class IfExp(expr):
    """`body if test else orelse`."""

    _fields = ("test", "body", "orelse")
    __slots__ = _fields

    def __init__(self, span: Span, test: expr, body: expr, orelse: expr) -> None:
        self.span = span
        self.test = test
        self.body = body
        self.orelse = orelse


class Dict(expr):
    """`{key: value, **more}`; the key of `**more` is None."""

    _fields = ("keys", "values")
    __slots__ = _fields

    def __init__(self, span: Span, keys: list[expr | None], values: list[expr]) -> None:
        self.span = span
        self.keys = keys
        self.values = values


class Set(expr):
    """`{a, b}`."""

    _fields = ("elts",)
    __slots__ = _fields

    def __init__(self, span: Span, elts: list[expr]) -> None:
        self.span = span
        self.elts = elts


class ListComp(expr):
    """`[elt for …]`."""

    _fields = ("elt", "generators")
    __slots__ = _fields

    def __init__(self, span: Span, elt: expr, generators: list[comprehension]) -> None:
        self.span = span
        self.elt = elt
        self.generators = generators


class SetComp(expr):
    """`{elt for …}`."""

    _fields = ("elt", "generators")
    __slots__ = _fields

    def __init__(self, span: Span, elt: expr, generators: list[comprehension]) -> None:
        self.span = span
        self.elt = elt
        self.generators = generators


class DictComp(expr):
    """`{key: value for …}`."""

    _fields = ("key", "value", "generators")
    __slots__ = _fields

    def __init__(self, span: Span, key: expr, value: expr, generators: list[comprehension]) -> None:
        self.span = span
        self.key = key
        self.value = value
        self.generators = generators


class GeneratorExp(expr):
    """`(elt for …)`."""

    _fields = ("elt", "generators")
    __slots__ = _fields

    def __init__(self, span: Span, elt: expr, generators: list[comprehension]) -> None:
        self.span = span
        self.elt = elt
        self.generators = generators


class Yield(expr):
    """`yield value`."""

    _fields = ("value",)
    __slots__ = _fields

    def __init__(self, span: Span, value: expr | None) -> None:
        self.span = span
        self.value = value


class YieldFrom(expr):
    """`yield from value`."""

    _fields = ("value",)
    __slots__ = _fields

    def __init__(self, span: Span, value: expr) -> None:
        self.span = span
        self.value = value


class Compare(expr):
    """`left ops[0] comparators[0] ops[1] …`; ops are `== != < <= > >= is`, `is not`, `in`, `not in`."""

    _fields = ("left", "ops", "comparators")
    __slots__ = _fields

    def __init__(self, span: Span, left: expr, ops: list[str], comparators: list[expr]) -> None:
        self.span = span
        self.left = left
        self.ops = ops
        self.comparators = comparators


class Call(expr):
    """`func(args, keywords)`."""

    _fields = ("func", "args", "keywords")
    __slots__ = _fields

    def __init__(self, span: Span, func: expr, args: list[expr], keywords: list[keyword]) -> None:
        self.span = span
        self.func = func
        self.args = args
        self.keywords = keywords


class FormattedValue(expr):
    """`{value!conversion:format_spec}` in an f-string; conversion is -1 or the code of `s`, `r`, `a`."""

    _fields = ("value", "conversion", "format_spec")
    __slots__ = _fields

    def __init__(self, span: Span, value: expr, conversion: int, format_spec: JoinedStr | None) -> None:
        self.span = span
        self.value = value
        self.conversion = conversion
        self.format_spec = format_spec


class JoinedStr(expr):
    """An f-string: constants and formatted values."""

    _fields = ("values",)
    __slots__ = _fields

    def __init__(self, span: Span, values: list[expr]) -> None:
        self.span = span
        self.values = values


class Constant(expr):
    """A number, string, True, False, None or Ellipsis."""

    _fields = ("value",)
    __slots__ = _fields

    def __init__(self, span: Span, value: object) -> None:
        self.span = span
        self.value = value


class Attribute(expr):
    """`value.attr`."""

    _fields = ("value", "attr")
    __slots__ = _fields

    def __init__(self, span: Span, value: expr, attr: str) -> None:
        self.span = span
        self.value = value
        self.attr = attr


class Subscript(expr):
    """`value[slice]`."""

    _fields = ("value", "slice")
    __slots__ = _fields

    def __init__(self, span: Span, value: expr, slice: expr) -> None:
        self.span = span
        self.value = value
        self.slice = slice


class Starred(expr):
    """`*value`."""

    _fields = ("value",)
    __slots__ = _fields

    def __init__(self, span: Span, value: expr) -> None:
        self.span = span
        self.value = value


class Name(expr):
    """A name, read or bound."""

    _fields = ("id",)
    __slots__ = _fields

    def __init__(self, span: Span, id: str) -> None:
        self.span = span
        self.id = id


class List(expr):
    """`[a, b]`."""

    _fields = ("elts",)
    __slots__ = _fields

    def __init__(self, span: Span, elts: list[expr]) -> None:
        self.span = span
        self.elts = elts


class Tuple(expr):
    """`a, b`."""

    _fields = ("elts",)
    __slots__ = _fields

    def __init__(self, span: Span, elts: list[expr]) -> None:
        self.span = span
        self.elts = elts


class Slice(expr):
    """`lower:upper:step` in a subscript."""

    _fields = ("lower", "upper", "step")
    __slots__ = _fields

    def __init__(self, span: Span, lower: expr | None, upper: expr | None, step: expr | None) -> None:
        self.span = span
        self.lower = lower
        self.upper = upper
        self.step = step


class comprehension(Node):  # noqa: N801
    """`for target in iter if ifs[0] …`."""

    _fields = ("target", "iter", "ifs")
    __slots__ = _fields

    def __init__(self, span: Span, target: expr, iter: expr, ifs: list[expr]) -> None:
        self.span = span
        self.target = target
        self.iter = iter
        self.ifs = ifs


class arg(Node):  # noqa: N801
    """One parameter; its annotation is parsed and has no effect."""

    _fields = ("arg", "annotation")
    __slots__ = _fields

    def __init__(self, span: Span, arg: str, annotation: expr | None) -> None:
        self.span = span
        self.arg = arg
        self.annotation = annotation


class arguments(Node):  # noqa: N801
    """The parameters of a function, laid out as in Python's `ast`."""

    _fields = ("posonlyargs", "args", "vararg", "kwonlyargs", "kw_defaults", "kwarg", "defaults")
    __slots__ = _fields

    def __init__(
        self, span: Span, posonlyargs: list[arg], args: list[arg], vararg: arg | None,
        kwonlyargs: list[arg], kw_defaults: list[expr | None], kwarg: arg | None, defaults: list[expr],
    ) -> None:
        self.span = span
        self.posonlyargs = posonlyargs
        self.args = args
        self.vararg = vararg
        self.kwonlyargs = kwonlyargs
        self.kw_defaults = kw_defaults
        self.kwarg = kwarg
        self.defaults = defaults


class keyword(Node):  # noqa: N801
    """`arg=value` in a call; arg is None for `**value`."""

    _fields = ("arg", "value")
    __slots__ = _fields

    def __init__(self, span: Span, arg: str | None, value: expr) -> None:
        self.span = span
        self.arg = arg
        self.value = value
