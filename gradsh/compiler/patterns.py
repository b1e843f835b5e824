"""Lowers the patterns of `match` to nested tuples, which the machine compares a value with (`runtime/matching.py`).

Python's own would read the attributes that a class pattern names past the guard.
"""

import ast
from typing import Any

from gradsh.compiler import runtime_names
from gradsh.compiler.expressions import LOAD, STORE, ExpressionLowering
from gradsh.compiler.scopes import captures
from gradsh.language import tree
from gradsh.language.node import expr

_VALUES = (tree.Constant, tree.Attribute, tree.UnaryOp, tree.JoinedStr)


class PatternLowering(ExpressionLowering):
    """Lowers cases. What is matched stands in a hidden variable, what a pattern binds in another, until the case begins."""

    def case_test(self, node: tree.match_case) -> ast.expr:
        """Return the condition of a case: whether its pattern fits, its names being bound then, and its guard."""
        place = self.place(node.pattern.span)
        subject = ast.Name(runtime_names.SUBJECT, LOAD, **place)
        found = self.hook(runtime_names.MATCH, place, subject, self.pattern(node.pattern))
        self.hooked.add(runtime_names.BOUND)
        kept = ast.NamedExpr(ast.Name(runtime_names.BOUND, STORE, **place), found, **place)
        tests: list[ast.expr] = [ast.Compare(kept, [ast.IsNot()], [self.constant(None, place)], **place)]
        for name in dict(captures(node.pattern)):
            bound = ast.Name(runtime_names.BOUND, LOAD, **place)
            value = ast.Subscript(bound, self.constant(name, place), LOAD, **place)
            named = ast.NamedExpr(ast.Name(self.name(name), STORE, **place), value, **place)
            tests.append(ast.List([named], LOAD, **place))  # a list with one element is true, whatever that is
        if node.guard is not None:
            tests.append(self.lower(node.guard))
        return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests, **place)

    def pattern(self, node: expr) -> ast.expr:
        """Return a tuple that says what fits: its sort, and the parts."""
        match node:
            case tree.Name():
                return self._part(node, "any") if node.id == "_" else self._part(node, "name", node.id)
            case tree.Constant() if node.value is None or isinstance(node.value, bool):
                return self._part(node, "is", node.value)
            case _ if isinstance(node, _VALUES):
                return self._part(node, "value", self.lower(node))
            case tree.NamedExpr():
                return self._part(node, "as", self.pattern(node.value), node.target.id)
            case tree.BinOp() if node.op == "|":
                return self._part(node, "or", self.pattern(node.left), self.pattern(node.right))
            case tree.List() | tree.Tuple():
                return self._sequence(node)
            case tree.Dict():
                return self._mapping(node)
            case tree.Call():
                return self._class(node)
            case _:
                raise self.refuse(
                    node.span, "this is no pattern", "write a value, a name, a class with its attributes, a list or a dictionary of these"
                )

    def _part(self, node: expr, *parts: object) -> ast.expr:
        place = self.place(node.span)
        return ast.Tuple(
            [part if isinstance(part, ast.expr) else self.constant(part, place) for part in parts], LOAD, **place
        )

    def _several(self, node: expr, parts: list[ast.expr]) -> ast.expr:
        return ast.Tuple(parts, LOAD, **self.place(node.span))

    def _sequence(self, node: Any) -> ast.expr:
        star = next((place for place, one in enumerate(node.elts) if isinstance(one, tree.Starred)), -1)
        parts = [self.pattern(one.value if isinstance(one, tree.Starred) else one) for one in node.elts]
        return self._part(node, "sequence", self._several(node, parts), star)

    def _mapping(self, node: tree.Dict) -> ast.expr:
        rest: Any = next((value for key, value in zip(node.keys, node.values, strict=True) if key is None), None)
        rest = rest and rest.id
        pairs = [
            self._several(node, [self.lower(key), self.pattern(value)])
            for key, value in zip(node.keys, node.values, strict=True) if key is not None
        ]
        return self._part(node, "mapping", self._several(node, pairs), rest)

    def _class(self, node: tree.Call) -> ast.expr:
        places = [self.pattern(one) for one in node.args]
        named = [self._part(node, word.arg, self.pattern(word.value)) for word in node.keywords]
        return self._part(node, "class", self.lower(node.func), self._several(node, places), self._several(node, named))
