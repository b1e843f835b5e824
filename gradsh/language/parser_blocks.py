"""The parser of compound statements and blocks, and of a whole text."""

from typing import cast

from gradsh.language import tree
from gradsh.language.node import expr, stmt
from gradsh.language.parser_statements import SimpleStatementParser
from gradsh.text.span import Span


class BlockParser(SimpleStatementParser):
    """The rules of statements that hold others."""

    def program(self) -> tree.Program:
        """Read a whole text.

        program: statement* END
        """
        body: list[stmt] = []
        while self.kinds[self.i] != "END":
            self.statement(body)
        first = self.tokens.source.first_line
        last = self.spans[self.i]
        return tree.Program(Span(first, 1, last.end_line, last.end_column), body, self.tokens.source)

    def statement(self, body: list[stmt]) -> None:
        """Read a line of simple statements, or a compound statement, into `body`.

        statement: compound | simple (';' simple)* [';'] NEWLINE
        """
        kind = self.kinds[self.i]
        rule = _COMPOUND.get(kind)
        if kind == "NAME" and self.texts[self.i] == "match" and self.opens_match():
            rule = BlockParser.match_
        if rule is not None:
            self.statement_start = self.i
            body.append(rule(self))
            return
        if kind == "INDENT":
            self.unexpected_indent()
        self.simple_statements(body)

    def simple_statements(self, body: list[stmt]) -> None:
        """Read a line of simple statements into `body`."""
        while True:
            body.append(self.simple_statement())
            if self.kinds[self.i - 1] in {"NEWLINE", "DEDENT"}:
                return  # the tail of a command was a compound statement and took its line's end
            if self.accept(";"):
                if self.accept("NEWLINE"):
                    return
                continue
            if self.kinds[self.i] != "NEWLINE":
                self.unexpected("the end of the statement")
            self.i += 1
            return

    def tail_statement(self) -> stmt:
        """Read the statement behind a command's name: a simple one, or a compound one with its block."""
        rule = _COMPOUND.get(self.kinds[self.i])
        return rule(self) if rule else self.simple_statement()

    def unexpected_indent(self) -> None:
        """Fail at a line that is indented although nothing before it opens a block."""
        if self.kinds[self.i + 1] == "ERROR":
            self.fail_broken(self.i + 1)
        self.fail("unexpected indent", "begin the line in the column of the statement before it")

    def block(self, what: str, opener: int) -> list[stmt]:
        """Read `':' block`, which belongs to the `what` that begins at token `opener`.

        block: NEWLINE INDENT statement+ DEDENT | simple (';' simple)* [';'] NEWLINE
        """
        if self.kinds[self.i] != ":":
            self.unexpected("':'", f"put : behind the {what}")
        self.i += 1
        self.deeper()
        body: list[stmt] = []
        if self.accept("NEWLINE"):
            if self.kinds[self.i] != "INDENT":
                line = self.spans[opener].line
                self.expected_block(f"expected an indented block after {what} on line {line}", opener)
            self.i += 1
            while self.kinds[self.i] not in {"DEDENT", "END"}:
                self.statement(body)
            self.accept("DEDENT")
        else:
            self.simple_statements(body)
        self.depth -= 1
        return body

    def expected_block(self, message: str, opener: int) -> None:
        """Fail where a block should begin; at the text's end it may still come."""
        if self.kinds[self.i] == "ERROR" or self.text_ends(self.i):
            self.unexpected("an indented block")
        labels = (self.label("defined", self.spans[opener], "this opens the block"),)
        self.fail(message, "indent the lines that belong to it, or write pass", labels=labels)

    def end_of(self, start: int, *bodies: list[stmt]) -> Span:
        """Return the span from token `start` to the end of the last statement in the last body that has any."""
        last = next(body[-1] for body in reversed(bodies) if body)
        return self.spans[start].to(last.span)

    def loop_body(self, what: str, opener: int) -> list[stmt]:
        """Read a block in which `break` and `continue` are allowed."""
        outer, self.in_loop = self.in_loop, True
        body = self.block(what, opener)
        self.in_loop = outer
        return body

    def else_block(self) -> list[stmt]:
        """Read `['else' ':' block]`."""
        opener = self.i
        return self.block("'else' statement", opener) if self.accept("else") else []

    # the statements

    def if_(self) -> stmt:
        """Read an if.

        if: 'if' named ':' block ('elif' named ':' block)* ['else' ':' block]
        """
        branches: list[tuple[int, expr, list[stmt]]] = []
        word = "if"
        while True:
            start = self.i
            self.i += 1
            test = self.named()
            branches.append((start, test, self.block(f"'{word}' statement", start)))
            word = "elif"
            if self.kinds[self.i] != "elif":
                break
        orelse = self.else_block()
        for start, test, body in reversed(branches):
            orelse = [tree.If(self.end_of(start, body, orelse), test, body, orelse)]
        return orelse[0]

    def while_(self) -> stmt:
        """Read a while.

        while: 'while' named ':' block ['else' ':' block]
        """
        start = self.i
        self.i += 1
        test = self.named()
        body = self.loop_body("'while' statement", start)
        orelse = self.else_block()
        return tree.While(self.end_of(start, body, orelse), test, body, orelse)

    def for_(self) -> stmt:
        """Read a for.

        for: 'for' targets 'in' expressions ':' block ['else' ':' block]
        """
        start = self.i
        self.i += 1
        target = self.for_targets(bind=True)
        if self.kinds[self.i] != "in":
            self.unexpected("'in'", "a loop is `for name in iterable:`")
        self.i += 1
        iterable = self.expressions()
        body = self.loop_body("'for' statement", start)
        orelse = self.else_block()
        return tree.For(self.end_of(start, body, orelse), target, iterable, body, orelse)

    def opens_match(self) -> bool:
        """Return whether the name `match` here begins a statement: its line ends with a colon, and cases (or nothing yet) follow."""
        kinds, i = self.kinds, self.i + 1
        end = next(place for place in range(i, len(kinds)) if kinds[place] in {"NEWLINE", "END", "ERROR"})
        if kinds[i] == ":" or kinds[end - 1] != ":" or kinds[end] != "NEWLINE":
            return False
        case = kinds[end + 1] == "INDENT" and self.texts[end + 2] == "case"
        return case or self.text_ends(end + 1)

    def match_(self) -> stmt:
        """Read a match.

        match: 'match' expressions ':' NEWLINE INDENT case+ DEDENT
        """
        start = self.i
        self.i += 1
        subject = self.expressions()
        self.expect(":")
        self.deeper()
        self.expect("NEWLINE")
        if self.kinds[self.i] != "INDENT":
            self.expected_block(f"expected an indented block after 'match' statement on line {self.spans[start].line}", start)
        self.i += 1
        cases = [self.case()]
        while self.kinds[self.i] not in {"DEDENT", "END"}:
            cases.append(self.case())
        self.accept("DEDENT")
        self.depth -= 1
        return tree.Match(self.end_of(start, cases[-1].body), subject, cases)

    def case(self) -> tree.match_case:
        """Read a case.

        case: 'case' pattern (',' pattern)* [','] ['as' NAME] ['if' named] ':' block
        """
        start = self.i
        if self.texts[start] != "case":
            self.unexpected("'case'", "the block of a match holds cases: case PATTERN:")
        self.i += 1
        first = self.i
        parts = [self.pattern()]
        listed = False
        while self.accept(","):
            listed = True
            if self.kinds[self.i] in {":", "if"}:
                break
            parts.append(self.pattern())
        pattern: expr = tree.Tuple(self.span_from(first), parts) if listed else parts[0]
        guard = self.named() if self.accept("if") else None
        body = self.block("'case' statement", start)
        return tree.match_case(self.end_of(start, body), pattern, guard, body)

    def pattern(self) -> expr:
        """Read a pattern as the expression that it looks like: no operator but `|` and a sign has a meaning in it."""
        start = self.i
        pattern = self.starred() if self.kinds[self.i] == "*" else self.binary(5)
        if not self.accept("as"):
            return pattern
        place = self.i
        name = tree.Name(self.spans[place], self.name("a name behind 'as'"))
        return tree.NamedExpr(self.span_from(start), name, pattern)

    def with_(self) -> stmt:
        """Read a with.

        with: 'with' ('(' item (',' item)* [','] ')' | item (',' item)*) ':' block
        item: expression ['as' target]
        """
        start = self.i
        self.i += 1
        if self.bracketed_items():
            self.i += 1
            items = [self.with_item()]
            while self.accept(",") and self.kinds[self.i] != ")":
                items.append(self.with_item())
            self.expect(")")
        else:
            items = [self.with_item()]
            while self.accept(","):
                items.append(self.with_item())
        body = self.block("'with' statement", start)
        return tree.With(self.end_of(start, body), items, body)

    def bracketed_items(self) -> bool:
        """Return whether a bracket here holds the items of a `with`, rather than being part of its first item."""
        kinds, i = self.kinds, self.i
        if kinds[i] != "(":
            return False
        depth = 0
        while kinds[i] not in {"END", "NEWLINE"}:
            if kinds[i] in {"(", "[", "{"}:
                depth += 1
            elif kinds[i] in {")", "]", "}"}:
                depth -= 1
                if not depth:
                    return kinds[i + 1] == ":" and i > self.i + 1
            elif depth == 1 and kinds[i] in {"for", ":=", "yield", "*"} and (kinds[i] != "*" or kinds[i - 1] in {"(", ","}):
                return False
            i += 1
        return False

    def with_item(self) -> tree.withitem:
        """Read one item of a `with`."""
        start = self.i
        context = self.expression()
        target = None
        if self.accept("as"):
            target = self.starred() if self.kinds[self.i] == "*" else self.primary()
            self.check_target(target, "assign to")
        return tree.withitem(self.span_from(start), context, target)

    def try_(self) -> stmt:
        """Read a try.

        try: 'try' ':' block (handler+ ['else' ':' block] ['finally' ':' block] | 'finally' ':' block)
        """
        start = self.i
        self.i += 1
        body = self.block("'try' statement", start)
        handlers: list[tree.ExceptHandler] = []
        while self.kinds[self.i] == "except":
            if handlers and handlers[-1].type is None:
                self.fail("default 'except:' must be last", "move the one without a type below this one")
            handlers.append(self.handler())
        orelse = self.else_block() if handlers else []
        opener = self.i
        final = self.block("'finally' statement", opener) if self.accept("finally") else []
        if not handlers and not final:
            self.unexpected("'except' or 'finally' block", "say what happens when the block fails: except RuntimeError as e:")
        span = self.end_of(start, body, cast("list[stmt]", handlers), orelse, final)
        return tree.Try(span, body, handlers, orelse, final)

    def handler(self) -> tree.ExceptHandler:
        """Read a handler.

        handler: 'except' [expression ['as' NAME]] ':' block
        """
        start = self.i
        self.i += 1
        if self.kinds[self.i] == "*":
            self.fail("except* is not part of the language", "write except: there are no exception groups here")
        kind = self.expression() if self.kinds[self.i] != ":" else None
        if self.kinds[self.i] == "," and kind is not None:
            self.fail("multiple exception types must be parenthesized",
                      "write `except (A, B):`, or `except A as e:` for what was `except A, e:`")
        name = self.name("a name behind 'as'") if kind is not None and self.accept("as") else None
        if name is not None:
            self.bind(name)
        body = self.block("'except' statement", start)
        return tree.ExceptHandler(self.end_of(start, body), kind, name, body)

    # definitions

    def decorated(self) -> stmt:
        """Read decorators and what they decorate.

        decorated: ('@' named NEWLINE)+ (def | class)
        """
        decorators: list[expr] = []
        while self.accept("@"):
            decorators.append(self.named())
            if self.kinds[self.i] != "NEWLINE":
                self.unexpected("the end of the line behind a decorator")
            self.i += 1
        if self.kinds[self.i] == "def":
            return self.def_(decorators)
        if self.kinds[self.i] != "class":
            self.unexpected("a def or a class behind a decorator")
        return self.class_(decorators)

    def def_(self, decorators: list[expr] | None = None) -> stmt:
        """Read a function.

        def: 'def' NAME '(' parameters ')' ['->' expression] ':' block
        """
        start = self.i
        self.i += 1
        name = self.name("the function's name")
        self.expect("(", "a function is `def name(parameters):`")
        params = self.parameters(")", annotated=True)
        self.expect(")")
        returns = self.annotation(self.expressions()) if self.accept("->") else None
        self.bind(name)
        outer = self.in_function, self.in_loop
        self.in_function, self.in_loop = True, False
        self.scopes.append({})
        self.bind_parameters(params)
        body = self.block("function definition", start)
        self.scopes.pop()
        self.in_function, self.in_loop = outer
        return tree.FunctionDef(self.end_of(start, body), name, params, body, decorators or [], returns)

    def class_(self, decorators: list[expr] | None = None) -> stmt:
        """Read a class.

        class: 'class' NAME ['(' arguments ')'] ':' block
        """
        start = self.i
        self.i += 1
        name = self.name("the class's name")
        bases: list[expr] = []
        keywords: list[tree.keyword] = []
        if self.kinds[self.i] == "(":
            bases, keywords = self.call_arguments()
        outer = self.in_function, self.in_loop
        self.in_function = self.in_loop = False
        self.scopes.append({})
        body = self.block("class definition", start)
        self.scopes.pop()
        self.in_function, self.in_loop = outer
        self.bind(name)
        return tree.ClassDef(self.end_of(start, body), name, bases, keywords, body, decorators or [])


_COMPOUND = {
    "if": BlockParser.if_,
    "while": BlockParser.while_,
    "for": BlockParser.for_,
    "with": BlockParser.with_,
    "try": BlockParser.try_,
    "def": BlockParser.def_,
    "class": BlockParser.class_,
    "@": BlockParser.decorated,
}
