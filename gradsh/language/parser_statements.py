"""The parser of simple statements: those that end on their line."""

from gradsh.language import tree
from gradsh.language.node import expr, stmt
from gradsh.language.parser_commands import CommandParser
from gradsh.language.parser_expressions import STARTS
from gradsh.language.targets import describe
from gradsh.language.tokens import AUGMENTED

COMPOUND = frozenset({"if", "while", "for", "with", "try", "def", "class", "@"})
"""What statements that open a block begin with."""


class SimpleStatementParser(CommandParser):
    """The rules of simple statements."""

    def simple_statement(self) -> stmt:
        """Read a simple statement, without what ends it.

        simple: 'pass' | 'break' | 'continue' | return | raise | assert | del | global | nonlocal | import
              | command | assignment | value
        """
        kind = self.kinds[self.i]
        self.statement_start = self.i
        if kind == "NAME":
            grammar = self.command_here() if self.texts[self.i] in self.grammars else None
            return self.command(grammar) if grammar else self.assignment()
        if kind in COMPOUND:
            self.fail(f"'{kind}' cannot stand here: it opens a block", "begin a line of its own with it")
        rule = _SIMPLE.get(kind)
        return rule(self) if rule else self.assignment()

    def assignment(self) -> stmt:
        """Read an assignment of any form, or an expression.

        assignment: targets ('=' targets)* '=' value | target AUGMENTED value | target ':' expression ['=' value]
        """
        start = self.i
        first = self.value()
        kind = self.kinds[self.i]
        if kind == "=":
            return self.plain_assignment(start, first)
        if kind in AUGMENTED:
            return self.augmented_assignment(start, first, kind)
        if kind == ":" and isinstance(first, (tree.Name, tree.Attribute, tree.Subscript, tree.Tuple, tree.List)):
            return self.annotated_assignment(start, first)
        return tree.Expr(self.span_from(start), first)

    def plain_assignment(self, start: int, first: expr) -> stmt:
        """Read the rest of `a = b = value`."""
        targets: list[expr] = []
        node = first
        while self.kinds[self.i] == "=":
            self.check_target(node, "assign to", bind=False)
            targets.append(node)
            self.i += 1
            node = self.value()
        for target in targets:
            self.check_target(target, "assign to")
        return tree.Assign(self.span_from(start), targets, node)

    def augmented_assignment(self, start: int, target: expr, op: str) -> stmt:
        """Read the rest of `target += value`."""
        if not isinstance(target, (tree.Name, tree.Attribute, tree.Subscript)):
            self.fail(f"'{describe(target)}' is an illegal expression for augmented assignment",
                      "the left side is a name, an attribute or an item", span=target.span)
        self.i += 1
        value = self.value()
        return tree.AugAssign(self.span_from(start), target, op[:-1], value)

    def annotated_assignment(self, start: int, target: expr) -> stmt:
        """Read the rest of `target: annotation = value`."""
        if not isinstance(target, (tree.Name, tree.Attribute, tree.Subscript)):
            what = "tuple" if isinstance(target, tree.Tuple) else "list"
            if self.kinds[self.i + 1] not in STARTS:
                self.unexpected("the end of the statement")
            self.fail(f"only single target (not {what}) can be annotated", "annotate each name alone", span=target.span)
        if self.kinds[self.i + 1] not in STARTS:
            self.unexpected("the end of the statement")
        self.i += 1
        annotation = self.annotation(self.expression())
        value = self.value() if self.accept("=") else None
        if value is not None:
            self.check_target(target, "assign to")
        simple = int(isinstance(target, tree.Name) and self.kinds[start] != "(")
        return tree.AnnAssign(self.span_from(start), target, annotation, value, simple)

    def pass_(self) -> stmt:
        """Read `pass`."""
        self.i += 1
        return tree.Pass(self.spans[self.i - 1])

    def break_(self) -> stmt:
        """Read `break`."""
        if not self.in_loop:
            self.fail("'break' outside loop", "it ends the loop that it stands in; put it in one")
        self.i += 1
        return tree.Break(self.spans[self.i - 1])

    def continue_(self) -> stmt:
        """Read `continue`."""
        if not self.in_loop:
            self.fail("'continue' not properly in loop", "it goes on with the loop that it stands in; put it in one")
        self.i += 1
        return tree.Continue(self.spans[self.i - 1])

    def return_(self) -> stmt:
        """Read a return.

        return: 'return' [expressions]
        """
        start = self.i
        if not self.in_function:
            self.fail("'return' outside function", "remove it, or put it in a def")
        self.i += 1
        value = self.expressions() if self.kinds[self.i] in STARTS or self.kinds[self.i] == "*" else None
        return tree.Return(self.span_from(start), value)

    def raise_(self) -> stmt:
        """Read a raise.

        raise: 'raise' [expression ['from' expression]]
        """
        start = self.i
        self.i += 1
        if self.kinds[self.i] not in STARTS:
            return tree.Raise(self.span_from(start), None, None)
        exc = self.expression()
        cause = self.expression() if self.accept("from") else None
        return tree.Raise(self.span_from(start), exc, cause)

    def assert_(self) -> stmt:
        """Read an assertion.

        assert: 'assert' expression [',' expression]
        """
        start = self.i
        self.i += 1
        test = self.expression()
        message = self.expression() if self.accept(",") else None
        return tree.Assert(self.span_from(start), test, message)

    def del_(self) -> stmt:
        """Read a deletion.

        del: 'del' target (',' target)* [',']
        """
        start = self.i
        self.i += 1
        targets: list[expr] = []
        while not targets or self.kinds[self.i] in STARTS:
            targets.append(self.binary(5))
            if not self.accept(","):
                break
        for target in targets:
            self.check_target(target, "delete")
        return tree.Delete(self.span_from(start), targets)

    def global_(self) -> stmt:
        """Read `'global' NAME (',' NAME)*`."""
        start = self.i
        names = self.name_list()
        for name in names:
            if name in self.grammars:
                self.scopes[0][name] = self.scopes[-1][name] = True
        return tree.Global(self.span_from(start), names)

    def nonlocal_(self) -> stmt:
        """Read `'nonlocal' NAME (',' NAME)*`."""
        start = self.i
        if len(self.scopes) == 1:
            self.fail("nonlocal declaration not allowed at module level", "remove it: names here are the program's own")
        names = self.name_list()
        return tree.Nonlocal(self.span_from(start), names)

    def name_list(self) -> list[str]:
        """Read the keyword here and names behind it."""
        self.i += 1
        names = [self.name("a name")]
        while self.accept(","):
            names.append(self.name("a name"))
        return names

    def import_(self) -> stmt:
        """Read an import of modules.

        import: 'import' dotted ['as' NAME] (',' dotted ['as' NAME])*
        """
        start = self.i
        self.i += 1
        names = [self.imported_module()]
        while self.accept(","):
            names.append(self.imported_module())
        return tree.Import(self.span_from(start), names)

    def imported_module(self) -> tree.alias:
        """Read `dotted ['as' NAME]`."""
        start = self.i
        dotted = self.dotted_name()
        asname = self.name("a name behind 'as'") if self.accept("as") else None
        self.bind(asname or dotted.partition(".")[0])
        return tree.alias(self.span_from(start), dotted, asname)

    def dotted_name(self) -> str:
        """Read `NAME ('.' NAME)*`."""
        parts = [self.name("a module's name")]
        while self.accept("."):
            parts.append(self.name("a module's name"))
        return ".".join(parts)

    def import_from(self) -> stmt:
        """Read an import of names.

        from: 'from' ('.' | '...')* [dotted] 'import' ('*' | imported (',' imported)* | '(' imported (',' imported)* [','] ')')
        """
        start = self.i
        self.i += 1
        level = 0
        while self.kinds[self.i] in {".", "..."}:
            level += len(self.kinds[self.i])
            self.i += 1
        module = None if level and self.kinds[self.i] == "import" else self.dotted_name()
        if self.kinds[self.i] != "import":
            self.unexpected("'import'", "write `from module import name`")
        self.i += 1
        names = self.imported_names()
        self.annotations_are_text |= module == "__future__" and any(one.name == "annotations" for one in names)
        return tree.ImportFrom(self.span_from(start), module, names, level)

    def imported_names(self) -> list[tree.alias]:
        """Read what is imported from a module."""
        start = self.i
        if self.accept("*"):
            if len(self.scopes) > 1:
                self.fail("import * only allowed at module level", "name what you need", span=self.spans[start])
            return [tree.alias(self.spans[start], "*", None)]
        bracket = self.accept("(")
        names = [self.imported_name()]
        while self.accept(","):
            if bracket and self.kinds[self.i] == ")":
                break
            if not bracket and self.kinds[self.i] == "NEWLINE":
                self.fail("trailing comma not allowed without surrounding parentheses", "remove the comma",
                          span=self.spans[self.i - 1])
            names.append(self.imported_name())
        if bracket:
            self.expect(")")
        return names

    def imported_name(self) -> tree.alias:
        """Read `NAME ['as' NAME]`."""
        start = self.i
        name = self.name("a name to import")
        asname = self.name("a name behind 'as'") if self.accept("as") else None
        self.bind(asname or name)
        return tree.alias(self.span_from(start), name, asname)


_SIMPLE = {
    "pass": SimpleStatementParser.pass_,
    "break": SimpleStatementParser.break_,
    "continue": SimpleStatementParser.continue_,
    "return": SimpleStatementParser.return_,
    "raise": SimpleStatementParser.raise_,
    "assert": SimpleStatementParser.assert_,
    "del": SimpleStatementParser.del_,
    "global": SimpleStatementParser.global_,
    "nonlocal": SimpleStatementParser.nonlocal_,
    "import": SimpleStatementParser.import_,
    "from": SimpleStatementParser.import_from,
}

