"""The parser of expressions with operators: from `lambda` and `if … else` down to calls, attributes and subscripts."""

from gradsh.language import tree
from gradsh.language.node import expr
from gradsh.language.parser_base import Cursor

_POWER = {
    "or": 1, "and": 2, "in": 4, "not": 4, "is": 4, "<": 4, ">": 4, "==": 4, ">=": 4, "<=": 4, "!=": 4, "|": 5, "^": 6,
    "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "@": 10, "/": 10, "//": 10, "%": 10,
}  # fmt: skip
"""How strongly each binary operator binds; `not` binds with 3 as a prefix, and stands here as the start of `not in`."""

OPERAND = 5
"""The power from which on an expression holds no comparison (`for x in …` must not read on into `in`)."""

STARTS = frozenset({
    "NAME", "NUMBER", "STRING", "FSTART", "(", "[", "{", "-", "+", "~", "not", "lambda", "...", "None", "True", "False",
    "await",
})  # fmt: skip
"""The kinds of token that an expression may begin with."""


class ExpressionParser(Cursor):
    """The rules above atoms."""

    def atom(self) -> expr:
        """Read an atom: see `AtomParser`."""
        raise NotImplementedError

    def lambda_(self) -> expr:
        """Read a lambda: see `FunctionParser`."""
        raise NotImplementedError

    def comprehension_tail(self, start: int, element: expr) -> expr:
        """Read the clauses of a generator expression: see `AtomParser`."""
        raise NotImplementedError

    def expression(self) -> expr:
        """Read an expression.

        expression: lambda | binary ['if' binary 'else' expression]
        """
        if self.kinds[self.i] == "lambda":
            return self.lambda_()
        start = self.i
        self.deeper()
        node = self.binary(1)
        if self.kinds[self.i] == "if":
            self.i += 1
            test = self.binary(1)
            if self.kinds[self.i] != "else":
                self.unexpected("'else'", "a conditional expression is `a if condition else b`")
            self.i += 1
            orelse = self.expression()
            node = tree.IfExp(self.span_from(start), test, node, orelse)
        self.depth -= 1
        return node

    def binary(self, least: int) -> expr:
        """Read operators that bind at least as strongly as `least`.

        binary: ('not' binary | unary) (OPERATOR binary)*      the right side binds more strongly than its operator
        """
        kinds, start = self.kinds, self.i
        if kinds[start] == "not" and least <= 3:
            self.i += 1
            self.deeper()
            operand = self.binary(3)
            self.depth -= 1
            node: expr = tree.UnaryOp(self.span_from(start), "not", operand)
        else:
            node = self.unary()
        while True:
            op = kinds[self.i]
            power = _POWER.get(op)
            if power is None or power < least:
                return node
            if power == 4:
                if op == "not" and kinds[self.i + 1] != "in":
                    return node
                node = self.comparison(start, node)
            elif power < 4:
                values = [node]
                while self.accept(op):
                    values.append(self.binary(power + 1))
                node = tree.BoolOp(self.span_from(start), op, values)
            else:
                self.i += 1
                right = self.binary(power + 1)
                node = tree.BinOp(self.span_from(start), node, op, right)

    def comparison(self, start: int, left: expr) -> expr:
        """Read the rest of a chain of comparisons.

        comparison: binary (('==' | '!=' | '<' | '<=' | '>' | '>=' | 'is' ['not'] | ['not'] 'in') binary)+
        """
        kinds = self.kinds
        ops: list[str] = []
        comparators: list[expr] = []
        while _POWER.get(op := kinds[self.i]) == 4:
            following = kinds[self.i + 1]
            if op == "not" and following != "in":
                break
            self.i += 1
            if (op == "is" and following == "not") or op == "not":
                self.i += 1
                op = f"{op} {following}"
            ops.append(op)
            comparators.append(self.binary(OPERAND))
        return tree.Compare(self.span_from(start), left, ops, comparators)

    def unary(self) -> expr:
        """Read signs and powers; `-a ** b` is `-(a ** b)`.

        unary: ('-' | '+' | '~') unary | primary ['**' unary]
        """
        start, kind = self.i, self.kinds[self.i]
        if kind in {"-", "+", "~"}:
            self.i += 1
            self.deeper()
            operand = self.unary()
            self.depth -= 1
            return tree.UnaryOp(self.span_from(start), kind, operand)
        node = self.primary()
        if self.kinds[self.i] == "**":
            self.i += 1
            self.deeper()
            exponent = self.unary()
            self.depth -= 1
            node = tree.BinOp(self.span_from(start), node, "**", exponent)
        return node

    def primary(self) -> expr:
        """Read an atom with its attributes, calls and subscripts.

        primary: atom ('.' NAME | '(' arguments ')' | '[' subscript ']')*
        """
        start, kinds = self.i, self.kinds
        if kinds[start] == "NAME":
            self.i = start + 1
            node: expr = tree.Name(self.spans[start], self.texts[start])
        else:
            node = self.atom()
        while True:
            kind = kinds[self.i]
            if kind == ".":
                self.i += 1
                if kinds[self.i] != "NAME":
                    self.unexpected("a name behind the dot")
                self.i += 1
                node = tree.Attribute(self.span_from(start), node, self.texts[self.i - 1])
            elif kind == "(":
                args, keywords = self.call_arguments()
                node = tree.Call(self.span_from(start), node, args, keywords)
            elif kind == "[":
                self.i += 1
                index = self.subscript()
                self.expect("]")
                node = tree.Subscript(self.span_from(start), node, index)
            else:
                return node

    def call_arguments(self) -> tuple[list[expr], list[tree.keyword]]:
        """Read the arguments of a call, brackets included.

        arguments: [argument (',' argument)* [',']]
        argument: '*' expression | '**' expression | NAME '=' expression | named [clauses]
        """
        opening = self.i
        self.i += 1
        kinds = self.kinds
        args: list[expr] = []
        keywords: list[tree.keyword] = []
        while kinds[self.i] != ")":
            start = self.i
            if kinds[start] == "**":
                self.i += 1
                value = self.expression()
                keywords.append(tree.keyword(self.span_from(start), None, value))
            elif kinds[start] == "NAME" and kinds[start + 1] == "=":
                keywords.append(self.keyword_argument(keywords))
            else:
                args.append(self.positional_argument(opening, args, keywords))
            if not self.accept(","):
                break
        self.expect(")")
        return args, keywords

    def keyword_argument(self, before: list[tree.keyword]) -> tree.keyword:
        """Read `NAME = expression`."""
        start = self.i
        name = self.texts[start]
        if any(other.arg == name for other in before):
            self.fail(f"keyword argument repeated: {name}", "give it once")
        self.i += 2
        value = self.expression()
        return tree.keyword(self.span_from(start), name, value)

    def positional_argument(self, opening: int, args: list[expr], keywords: list[tree.keyword]) -> expr:
        """Read an argument without a name; a generator expression may stand without brackets of its own if alone."""
        start = self.i
        if self.accept("*"):
            value = self.expression()
            if any(item.arg is None for item in keywords):
                self.fail("iterable argument unpacking follows keyword argument unpacking", "put *… before **…",
                          span=self.span_from(start))
            return tree.Starred(self.span_from(start), value)
        node = self.named()
        if self.kinds[self.i] == "for":
            alone = start == opening + 1
            generator = self.comprehension_tail(start, node)
            if not alone or self.kinds[self.i] != ")":
                self.fail("Generator expression must be parenthesized", "put ( ) around it", span=generator.span)
            end = self.spans[self.i]
            generator.span = self.spans[opening].to(end)
            return generator
        if keywords:
            what = "keyword argument unpacking" if keywords[-1].arg is None else "keyword argument"
            if self.kinds[self.i] != "=":
                self.fail(f"positional argument follows {what}", "put it before the arguments with names", span=node.span)
        if self.kinds[self.i] == "=":
            self.fail('expression cannot contain assignment, perhaps you meant "=="?',
                      "an argument's name is a bare name; compare with ==", span=self.span_from(start))
        return node

    def subscript(self) -> expr:
        """Read what stands between `[` and `]`.

        subscript: slice (',' slice)* [',']
        """
        start = self.i
        first = self.slice()
        if self.kinds[self.i] != ",":
            if isinstance(first, tree.Starred):
                return tree.Tuple(first.span, [first])
            return first
        elements = [first]
        while self.accept(","):
            if self.kinds[self.i] == "]":
                break
            elements.append(self.slice())
        return tree.Tuple(self.span_from(start), elements)

    def slice(self) -> expr:
        """Read one index or slice.

        slice: '*' binary | named | [expression] ':' [expression] [':' [expression]]
        """
        start = self.i
        if self.kinds[start] == "*":
            return self.starred()
        lower = None if self.kinds[start] == ":" else self.named()
        if lower is not None and self.kinds[self.i] != ":":
            return lower
        self.i += 1
        upper = self.expression() if self.kinds[self.i] in STARTS else None
        step = None
        if self.accept(":") and self.kinds[self.i] in STARTS:
            step = self.expression()
        return tree.Slice(self.span_from(start), lower, upper, step)

    def named(self) -> expr:
        """Read an expression that may bind a name.

        named: NAME ':=' expression | expression
        """
        start = self.i
        if self.kinds[start] == "NAME" and self.kinds[start + 1] == ":=":
            self.i += 2
            value = self.expression()
            self.bind(self.texts[start])
            return tree.NamedExpr(self.span_from(start), tree.Name(self.spans[start], self.texts[start]), value)
        return self.expression()

    def starred(self) -> expr:
        """Read `'*' binary`."""
        start = self.i
        self.i += 1
        value = self.binary(OPERAND)
        return tree.Starred(self.span_from(start), value)

    def starred_or(self) -> expr:
        """Read `'*' binary | expression`."""
        return self.starred() if self.kinds[self.i] == "*" else self.expression()

    def starred_or_named(self) -> expr:
        """Read `'*' binary | named`."""
        return self.starred() if self.kinds[self.i] == "*" else self.named()

    def expressions(self) -> expr:
        """Read one expression, or several as a tuple.

        expressions: starred_or (',' starred_or)* [',']
        """
        start = self.i
        first = self.starred_or()
        if self.kinds[self.i] != ",":
            if isinstance(first, tree.Starred) and self.kinds[self.i] != "=":
                self.fail("can't use starred expression here", "a tuple of one is `*a,`", span=first.span)
            return first
        elements = [first]
        while self.accept(",") and (self.kinds[self.i] in STARTS or self.kinds[self.i] == "*"):
            elements.append(self.starred_or())
        return tree.Tuple(self.span_from(start), elements)

    def value(self) -> expr:
        """Read what may stand on the right of an assignment.

        value: yield | expressions
        """
        return self.yield_() if self.kinds[self.i] == "yield" else self.expressions()

    def yield_(self) -> expr:
        """Read a yield.

        yield: 'yield' 'from' expression | 'yield' [expressions]
        """
        start = self.i
        if not self.in_function:
            self.fail("'yield' outside function", "put it in a function; calling that makes the generator")
        self.i += 1
        if self.accept("from"):
            source = self.expression()
            return tree.YieldFrom(self.span_from(start), source)
        given = self.kinds[self.i] in STARTS or self.kinds[self.i] == "*"
        value = self.expressions() if given else None
        return tree.Yield(self.span_from(start), value)
