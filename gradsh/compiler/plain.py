"""Lowers a script to Python as it stands: no guards, ticks or counts. Commands and shown values go through the machine's hooks.

PyTorch's engine runs scripts so; a lens follows their lines from outside.
"""

import ast
from typing import Any

from gradsh.compiler.expressions import STORE, operator
from gradsh.compiler.scopes import annotations_of, yields
from gradsh.compiler.statements import GENERIC, Block, StatementLowering
from gradsh.language import tree
from gradsh.language.node import stmt
from gradsh.text.span import Source


class PlainLowering(StatementLowering):
    """Lowers statements to their counterparts of Python's."""

    _Attribute = _Lambda = _Global = _Nonlocal = _While = _ExceptHandler = StatementLowering.alike

    def name(self, name: str) -> str:
        """Note a name of the program and return it."""
        self.names.add(name)
        return name

    def target(self, node: Any, ctx: ast.expr_context = STORE) -> Any:
        """Return a node that binds what the expression names."""
        if isinstance(node, tree.Attribute):
            return ast.Attribute(self.lower(node.value), node.attr, ctx, **self.place(node.span))
        return super().target(node, ctx)

    def _binary(self, node: tree.BinOp, left: Any, right: Any, place: dict[str, Any]) -> ast.expr:
        return ast.BinOp(left, operator(node.op), right, **place)

    def _comprehension(self, node: tree.comprehension) -> ast.comprehension:
        return ast.comprehension(self.target(node.target), self.lower(node.iter), self.lower(node.ifs), 0)

    def _AugAssign(self, node: tree.AugAssign) -> ast.stmt:
        return ast.AugAssign(self.target(node.target), operator(node.op), self.lower(node.value), **self.place(node.span))

    def _For(self, node: tree.For) -> Block:
        iterable, target = self.lower(node.iter), self.target(node.target)
        return [ast.For(target, iterable, self.lower(node.body), self.lower(node.orelse), **self.place(node.span))]

    def _FunctionDef(self, node: tree.FunctionDef) -> Block:
        decorators = self.lower(node.decorator_list)
        arguments = self.lower(node.args)
        self.functions.append(yields(node.body))
        body = self.lower(node.body)
        self.functions.pop()
        returns, place = self.any_annotation(node.returns), self.place(node.span)
        function = ast.FunctionDef(self.name(node.name), arguments, body, decorators, returns, **GENERIC, **place)
        return [*self.annotated(annotations_of(node)), function]

    def _ClassDef(self, node: tree.ClassDef) -> ast.stmt:
        decorators, bases = self.lower(node.decorator_list), self.lower(node.bases)
        keywords = self.lower(node.keywords)
        functions, self.functions = self.functions, []
        self.classes.append(node.name)
        body = self.lower(node.body)
        self.classes.pop()
        self.functions = functions
        return ast.ClassDef(self.name(node.name), bases, keywords, body, decorators, **GENERIC, **self.place(node.span))

    def _Import(self, node: tree.Import) -> Block:
        for one in node.names:
            self.name(one.asname or one.name.partition(".")[0])
        return [self.alike(node)]

    def _ImportFrom(self, node: tree.ImportFrom) -> Block:
        for one in node.names:
            self.name(one.asname or one.name) if one.name != "*" else None
        return [self.alike(node)]


def module_of(statement: stmt, source: Source) -> ast.Module:
    """Return a top-level statement as a module of Python's. Raises ProblemError for what cannot be lowered."""
    return ast.Module(PlainLowering(source, 0).top(statement), [])
