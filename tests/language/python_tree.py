"""The language's tree as Python's `ast`, so that Python's own parser can judge it."""

import ast

from gradsh.language import tree
from gradsh.language.node import SyntaxNode

BINARY = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "@": ast.MatMult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "**": ast.Pow, "<<": ast.LShift, ">>": ast.RShift, "&": ast.BitAnd, "^": ast.BitXor, "|": ast.BitOr,
}
UNARY = {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert, "not": ast.Not}
BOOLEAN = {"and": ast.And, "or": ast.Or}
COMPARE = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "is": ast.Is,
    "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}


def to_ast(node):
    """Convert a node, a list of nodes, or a plain value."""
    if isinstance(node, list):
        return [to_ast(item) for item in node]
    if not isinstance(node, SyntaxNode):
        return node
    if isinstance(node, tree.Program):
        return ast.Module(body=to_ast(node.body), type_ignores=[])
    kind = getattr(ast, type(node).__name__)
    fields = {name: to_ast(getattr(node, name)) for name in node._fields}
    if isinstance(node, (tree.BinOp, tree.AugAssign)):
        fields["op"] = BINARY[node.op]()
    elif isinstance(node, tree.UnaryOp):
        fields["op"] = UNARY[node.op]()
    elif isinstance(node, tree.BoolOp):
        fields["op"] = BOOLEAN[node.op]()
    elif isinstance(node, tree.Compare):
        fields["ops"] = [COMPARE[op]() for op in node.ops]
    elif isinstance(node, tree.comprehension):
        fields["is_async"] = 0
    result = kind(**fields)
    result.span = node.span
    return result


def without_context(root):
    """Drop what our tree does not have, so that dumps can be compared.

    That is contexts, the `u` of a string, and the empty text that Python 3.12 adds to a format spec that ends with a field.
    """
    for node in ast.walk(root):
        if isinstance(node, ast.JoinedStr):
            node.values = [part for part in node.values if not (isinstance(part, ast.Constant) and part.value == "")]
        for name in ("ctx", "kind", "type_comment", "type_params"):
            node.__dict__.pop(name, None)
    return root


def dump(root):
    """Return a tree as text, positions left out."""
    return ast.dump(without_context(root))


def positions(expected, ours, text):
    """Yield (kind, Python's position, ours) for each node whose positions differ; inside f-strings none are compared.

    Before Python 3.12 the positions in an f-string are those of the whole string, or wrong.
    """
    lines = text.split("\n")
    pairs = [(without_context(expected), without_context(ours))]
    while pairs:
        left, right = pairs.pop()
        if hasattr(left, "lineno") and hasattr(right, "span"):
            place = (left.lineno, chars(lines, left.lineno, left.col_offset), left.end_lineno,
                     chars(lines, left.end_lineno, left.end_col_offset))
            if place != tuple(right.span):
                yield type(left).__name__, place, tuple(right.span)
        if isinstance(left, ast.JoinedStr):
            continue
        pairs.extend(zip(ast.iter_child_nodes(left), ast.iter_child_nodes(right), strict=True))


def chars(lines, line, offset):
    """Return the column, from 1 and in characters, of an offset in bytes."""
    return len(lines[line - 1].encode()[:offset].decode()) + 1
