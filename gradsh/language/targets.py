"""What may be assigned to or deleted, and which names that binds."""

from gradsh.language import tree
from gradsh.language.node import expr
from gradsh.language.parser_base import Cursor

_NAMES = {
    "Call": "function call", "Compare": "comparison", "BinOp": "expression", "UnaryOp": "expression",
    "BoolOp": "expression", "IfExp": "conditional expression", "Lambda": "lambda", "JoinedStr": "f-string expression",
    "GeneratorExp": "generator expression", "ListComp": "list comprehension", "SetComp": "set comprehension",
    "DictComp": "dict comprehension", "Dict": "dict literal", "Set": "set display", "Yield": "yield expression",
    "YieldFrom": "yield expression", "NamedExpr": "named expression", "Constant": "literal",
}  # fmt: skip


def describe(node: expr) -> str:
    """Return what an expression that is no target is called: `function call`, `literal`, …"""
    if isinstance(node, tree.Constant) and (node.value is None or isinstance(node.value, bool)):
        return str(node.value)
    if isinstance(node, tree.Constant) and node.value is ...:
        return "ellipsis"
    if isinstance(node, (tree.Name, tree.Attribute, tree.Subscript, tree.Tuple, tree.List, tree.Starred)):
        return type(node).__name__.lower()
    return _NAMES[type(node).__name__]


class TargetChecks(Cursor):
    """Checks of targets once they are read as expressions."""

    def check_target(self, node: expr, verb: str, bind: bool = True, inside: bool = False) -> None:
        """Fail unless `node` can be assigned to (or deleted, by `verb`); bind its names. `inside`: within a tuple."""
        if isinstance(node, tree.Name):
            if bind:
                self.bind(node.id, verb != "delete")
        elif isinstance(node, (tree.Tuple, tree.List)):
            self.check_elements(node, verb, bind)
        elif isinstance(node, tree.Starred) and verb == "assign to":
            if not inside:
                self.fail("starred assignment target must be in a list or tuple", "write `*a, = …`", span=node.span)
            self.check_target(node.value, verb, bind)
        elif not isinstance(node, (tree.Attribute, tree.Subscript)):
            self.fail_target(node, verb)

    def check_elements(self, node: tree.Tuple | tree.List, verb: str, bind: bool) -> None:
        """Check the elements of a tuple or list that is assigned to; one of them may have a star."""
        if sum(isinstance(element, tree.Starred) for element in node.elts) > 1:
            self.fail("multiple starred expressions in assignment", "leave one star", span=node.span)
        for element in node.elts:
            self.check_target(element, verb, bind, inside=True)

    def fail_target(self, node: expr, verb: str) -> None:
        """Raise the problem that `node` is no target."""
        what = describe(node)
        message, advice = f"cannot {verb} {what}", ""
        if verb == "delete":
            advice = "del takes names, attributes and items"
        elif self.kinds[self.i] == "=" and self.depth == 0 and what not in {"True", "False", "None", "yield expression"}:
            message += " here. Maybe you meant '==' instead of '='?"
            advice = "assign to a name, an attribute or an item; compare with =="
        elif isinstance(node, tree.UnaryOp) or what == "expression":
            advice = "the left side is a name, an attribute or an item"
        self.fail(message, *([advice] if advice else ["assign to a name, an attribute or an item"]), span=node.span)
