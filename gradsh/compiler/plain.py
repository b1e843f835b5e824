"""Lowers a script to Python as it stands: no guards, ticks or counts. Commands and shown values go through the machine's hooks.

PyTorch's engine runs scripts so; a lens follows their lines from outside.
"""

import ast
from typing import Any

from gradsh.compiler.expressions import LOAD, STORE, operator
from gradsh.compiler.scopes import yields
from gradsh.compiler.statements import GENERIC, Block, StatementLowering
from gradsh.language import tree
from gradsh.language.node import stmt
from gradsh.text.span import Source


class PlainLowering(StatementLowering):
    """Lowers statements to their counterparts of Python's."""

    def name(self, name: str) -> str:
        """Note a name of the program and return it."""
        self.names.add(name)
        return name

    def target(self, node: Any, ctx: ast.expr_context = STORE) -> Any:
        """Return a node that binds what the expression names."""
        if isinstance(node, tree.Attribute):
            return ast.Attribute(self.expression(node.value), node.attr, ctx, **self.place(node.span))
        return super().target(node, ctx)

    def _Attribute(self, node: tree.Attribute) -> ast.expr:
        return ast.Attribute(self.expression(node.value), node.attr, LOAD, **self.place(node.span))

    def _binary(self, node: tree.BinOp, left: Any, right: Any, place: dict[str, Any]) -> ast.expr:
        return ast.BinOp(left, operator(node.op), right, **place)

    def _Lambda(self, node: tree.Lambda) -> ast.expr:
        return ast.Lambda(self.parameters(node.args), self.expression(node.body), **self.place(node.span))

    def _generators(self, clauses: list[tree.comprehension]) -> list[ast.comprehension]:
        return [
            ast.comprehension(self.target(one.target), self.expression(one.iter), self.expressions(one.ifs), 0) for one in clauses
        ]

    def _AugAssign(self, node: tree.AugAssign) -> ast.stmt:
        return ast.AugAssign(self.target(node.target), operator(node.op), self.expression(node.value), **self.place(node.span))

    def _Global(self, node: tree.Global) -> ast.stmt:
        return ast.Global(list(node.names), **self.place(node.span))

    def _Nonlocal(self, node: tree.Nonlocal) -> ast.stmt:
        return ast.Nonlocal(list(node.names), **self.place(node.span))

    def _For(self, node: tree.For) -> Block:
        iterable, target = self.expression(node.iter), self.target(node.target)
        return [ast.For(target, iterable, self.block(node.body), self.block(node.orelse), **self.place(node.span))]

    def _While(self, node: tree.While) -> Block:
        test = self.expression(node.test)
        return [ast.While(test, self.block(node.body), self.block(node.orelse), **self.place(node.span))]

    def _handler(self, node: tree.ExceptHandler) -> ast.ExceptHandler:
        return ast.ExceptHandler(self.optional(node.type), node.name, self.block(node.body), **self.place(node.span))

    def _FunctionDef(self, node: tree.FunctionDef) -> ast.stmt:
        decorators = self.expressions(node.decorator_list)
        arguments = self.parameters(node.args)
        self.functions.append(yields(node.body))
        body = self.block(node.body)
        self.functions.pop()
        return ast.FunctionDef(self.name(node.name), arguments, body, decorators, None, **GENERIC, **self.place(node.span))

    def _ClassDef(self, node: tree.ClassDef) -> ast.stmt:
        decorators, bases = self.expressions(node.decorator_list), self.expressions(node.bases)
        keywords = [ast.keyword(one.arg, self.expression(one.value), **self.place(one.span)) for one in node.keywords]
        functions, self.functions = self.functions, []
        self.classes.append(node.name)
        body = self.block(node.body)
        self.classes.pop()
        self.functions = functions
        return ast.ClassDef(self.name(node.name), bases, keywords, body, decorators, **GENERIC, **self.place(node.span))

    def _Import(self, node: tree.Import) -> Block:
        for one in node.names:
            self.name(one.asname or one.name.partition(".")[0])
        return [ast.Import([ast.alias(one.name, one.asname, **self.place(one.span)) for one in node.names], **self.place(node.span))]

    def _ImportFrom(self, node: tree.ImportFrom) -> Block:
        for one in node.names:
            self.name(one.asname or one.name) if one.name != "*" else None
        names = [ast.alias(one.name, one.asname, **self.place(one.span)) for one in node.names]
        return [ast.ImportFrom(node.module, names, node.level, **self.place(node.span))]


def module_of(statement: stmt, source: Source) -> ast.Module:
    """Return a top-level statement as a module of Python's. Raises ProblemError for what cannot be lowered."""
    return ast.Module(PlainLowering(source, 0).top(statement), [])
