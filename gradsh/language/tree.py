"""The tree of a program: every node's class, under the names of Python's `ast`.

It mirrors Python 3.11's `ast` (same classes, same fields, same spans), so that lowering is nearly mechanical. What
differs: every node has `span` (lines and columns from 1, in characters); operators are strings; there is no `ctx`, no
`kind`, no `type_comment`, no `is_async`; a `Command` is a statement of gradsh's own, and `Program` stands for `Module`.
What the language refuses (async, match, except*) has no node.
"""

from gradsh.language.expressions import (
    Attribute,
    BinOp,
    BoolOp,
    Call,
    Compare,
    Constant,
    Dict,
    DictComp,
    FormattedValue,
    GeneratorExp,
    IfExp,
    JoinedStr,
    Lambda,
    List,
    ListComp,
    Name,
    NamedExpr,
    Set,
    SetComp,
    Slice,
    Starred,
    Subscript,
    Tuple,
    UnaryOp,
    Yield,
    YieldFrom,
    arg,
    arguments,
    comprehension,
    keyword,
)
from gradsh.language.node import Node, dump, expr, same, stmt
from gradsh.language.statements import (
    AnnAssign,
    Assert,
    Assign,
    AugAssign,
    Break,
    ClassDef,
    Command,
    Continue,
    Delete,
    ExceptHandler,
    Expr,
    For,
    FunctionDef,
    Global,
    If,
    Import,
    ImportFrom,
    Nonlocal,
    OptionValue,
    Pass,
    Program,
    Raise,
    Return,
    Try,
    While,
    With,
    alias,
    withitem,
)

__all__ = [
    "AnnAssign", "Assert", "Assign", "Attribute", "AugAssign", "BinOp", "BoolOp", "Break", "Call", "ClassDef",
    "Command", "Compare", "Constant", "Continue", "Delete", "Dict", "DictComp", "ExceptHandler", "Expr", "For",
    "FormattedValue", "FunctionDef", "GeneratorExp", "Global", "If", "IfExp", "Import", "ImportFrom", "JoinedStr",
    "Lambda", "List", "ListComp", "Name", "NamedExpr", "Node", "Nonlocal", "OptionValue", "Pass", "Program",
    "Raise", "Return", "Set", "SetComp", "Slice", "Starred", "Subscript", "Try", "Tuple", "UnaryOp", "While",
    "With", "Yield", "YieldFrom", "alias", "arg", "arguments", "comprehension", "dump", "expr", "keyword", "same",
    "stmt", "withitem",
]
