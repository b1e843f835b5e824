"""The parser of atoms: literals, f-strings, brackets of all kinds, comprehensions."""

import re

from gradsh.language import tree
from gradsh.language.node import expr
from gradsh.language.parser_expressions import OPERAND, ExpressionParser
from gradsh.language.strings import Trouble, number, string, unescape
from gradsh.language.targets import TargetChecks
from gradsh.text.span import Span

_CONSTANTS = {"None": None, "True": True, "False": False, "...": ...}

_DOUBLED = r"(\{\{|\}\})"


class AtomParser(TargetChecks, ExpressionParser):
    """The rules of atoms."""

    def atom(self) -> expr:
        """Read an atom that is no name.

        atom: NUMBER | strings | '(' … ')' | '[' … ']' | '{' … '}' | 'None' | 'True' | 'False' | '...'
        """
        i, kind = self.i, self.kinds[self.i]
        if kind == "NUMBER":
            self.i = i + 1
            value = number(self.texts[i])
            if isinstance(value, Trouble):
                self.fail_literal(i, value)
            return tree.Constant(self.spans[i], value)
        if kind in {"STRING", "FSTART"}:
            return self.strings()
        if kind == "(":
            return self.group()
        if kind == "[":
            return self.list_display()
        if kind == "{":
            return self.brace_display()
        if kind not in _CONSTANTS:
            self.unexpected("an expression")
        self.i = i + 1
        return tree.Constant(self.spans[i], _CONSTANTS[kind])

    def fail_literal(self, i: int, trouble: Trouble) -> None:
        """Raise what is wrong with the literal at token `i`."""
        span = self.spans[i]
        if trouble.length and "\n" not in self.texts[i][: trouble.start + trouble.length]:
            column = span.column + trouble.start
            span = Span(span.line, column, span.line, column + trouble.length)
        self.fail(trouble.message, trouble.help, span=span, kind=trouble.kind)

    # strings

    def strings(self) -> expr:
        """Read strings that stand side by side, which are one.

        strings: (STRING | fstring)+
        """
        start = self.i
        parts: list[expr] = []
        formatted = False
        while True:
            kind = self.kinds[self.i]
            if kind == "STRING":
                value = string(self.texts[self.i])
                if isinstance(value, Trouble):
                    self.fail_literal(self.i, value)
                parts.append(tree.Constant(self.spans[self.i], value))
                self.i += 1
            elif kind == "FSTART":
                formatted = True
                parts.extend(self.fstring())
            else:
                break
        if formatted:
            return tree.JoinedStr(self.span_from(start), _merged(parts))
        if len(parts) == 1:
            return parts[0]
        values = [part.value for part in parts if isinstance(part, tree.Constant)]
        texts = [value for value in values if isinstance(value, str)]
        octets = [value for value in values if isinstance(value, bytes)]
        if texts and octets:
            self.fail("cannot mix bytes and nonbytes literals", "write all of them with the b, or none", span=self.span_from(start))
        return tree.Constant(self.span_from(start), "".join(texts) if texts else b"".join(octets))

    def fstring(self) -> list[expr]:
        """Read an f-string.

        fstring: FSTART (FMIDDLE | field)* FEND
        """
        raw = "r" in self.texts[self.i].lower()
        self.i += 1
        parts: list[expr] = []
        while self.kinds[self.i] != "FEND":
            parts.extend(self.fstring_part(raw, in_spec=False))
        self.i += 1
        return parts

    def fstring_part(self, raw: bool, in_spec: bool) -> list[expr]:
        """Read a literal part or a field."""
        i = self.i
        if self.kinds[i] == "{":
            return self.field(raw)
        if self.kinds[i] != "FMIDDLE":
            self.unexpected("the end of the f-string")
        self.i += 1
        return [tree.Constant(self.spans[i], self.literal_text(i, raw, in_spec))]

    def literal_text(self, i: int, raw: bool, in_spec: bool) -> str:
        """Return what the FMIDDLE token `i` stands for."""
        text = self.texts[i]
        pieces = [text] if in_spec else re.split(_DOUBLED, text)
        values, at = [], 0
        for piece in pieces:
            if piece in {"{{", "}}"} and not in_spec:
                values.append(piece[0])
            elif raw or "\\" not in piece:
                values.append(piece)
            else:
                value = unescape(piece, at)
                if isinstance(value, Trouble):
                    self.fail_literal(i, value)
                else:
                    values.append(value)
            at += len(piece)
        return "".join(values).replace("\r\n", "\n")

    def field(self, raw: bool) -> list[expr]:
        """Read a replacement field; `=` puts its own text in front.

        field: '{' value ['='] ['!' NAME] [':' (FMIDDLE | field)*] '}'
        """
        start = self.i
        self.i += 1
        if self.kinds[self.i] in {"}", "!", ":", "="}:
            self.fail(f"f-string: valid expression required before '{self.kinds[self.i]}'",
                      "put an expression between the braces, or write {{ for a brace that is text")
        value = self.value()
        parts: list[expr] = []
        conversion, spec = -1, None
        debug = self.accept("=")
        if debug:
            text = self.tokens.source.text[self.tokens.ends[start] : self.tokens.starts[self.i]]
            parts.append(tree.Constant(self.spans[start], text))
        if self.accept("!"):
            conversion = self.conversion()
        if self.kinds[self.i] == ":":
            spec = self.format_spec(raw)
        if self.kinds[self.i] != "}":
            self.unexpected("'}'", "an f-string's field holds one expression")
        self.i += 1
        if debug and conversion < 0 and spec is None:
            conversion = ord("r")
        parts.append(tree.FormattedValue(self.span_from(start), value, conversion, spec))
        return parts

    def conversion(self) -> int:
        """Read the name of a conversion."""
        name = self.texts[self.i]
        if name not in {"s", "r", "a"}:
            self.fail(f"f-string: invalid conversion character {name!r}: expected 's', 'r', or 'a'",
                      "write !r for repr, !s for str, !a for ascii")
        self.i += 1
        return ord(name)

    def format_spec(self, raw: bool) -> tree.JoinedStr:
        """Read a format spec, from its colon on."""
        start = self.i
        self.i += 1
        parts: list[expr] = []
        while self.kinds[self.i] != "}":
            parts.extend(self.fstring_part(raw, in_spec=True))
        return tree.JoinedStr(self.span_from(start), _merged(parts))

    # brackets

    def group(self) -> expr:
        """Read what stands in round brackets: a tuple, a generator expression, or one expression.

        group: '(' ')' | '(' yield ')' | '(' starred_or_named (clauses | (',' starred_or_named)* [',']) ')'
        """
        start = self.i
        self.i += 1
        if self.accept(")"):
            return tree.Tuple(self.span_from(start), [])
        if self.kinds[self.i] == "yield":
            node = self.yield_()
            self.expect(")")
            return node
        node = self.starred_or_named()
        if self.kinds[self.i] == "for":
            node = self.comprehension_tail(start, node)
            self.expect(")")
            node.span = self.span_from(start)
            return node
        if self.kinds[self.i] == ",":
            elements = self.more_elements(node, ")")
            self.expect(")")
            return tree.Tuple(self.span_from(start), elements)
        if isinstance(node, tree.Starred):
            self.fail("cannot use starred expression here", "a tuple of one is (*a,)", span=node.span)
        self.expect(")")
        return node

    def more_elements(self, first: expr, closing: str) -> list[expr]:
        """Read `(',' starred_or_named)* [',']` behind the first element."""
        elements = [first]
        while self.accept(","):
            if self.kinds[self.i] == closing:
                break
            elements.append(self.starred_or_named())
        return elements

    def list_display(self) -> expr:
        """Read a list or a list comprehension.

        list: '[' [starred_or_named (clauses | (',' starred_or_named)* [','])] ']'
        """
        start = self.i
        self.i += 1
        if self.accept("]"):
            return tree.List(self.span_from(start), [])
        first = self.starred_or_named()
        if self.kinds[self.i] == "for":
            generators = self.clauses(first)
            self.expect("]")
            return tree.ListComp(self.span_from(start), first, generators)
        elements = self.more_elements(first, "]")
        self.expect("]")
        return tree.List(self.span_from(start), elements)

    def brace_display(self) -> expr:
        """Read a dict, a set, or a comprehension of either.

        braces: '{' [item (clauses | (',' item)* [','])] '}'
        item: '**' binary | expression ':' expression | starred_or_named
        """
        start = self.i
        self.i += 1
        if self.accept("}"):
            return tree.Dict(self.span_from(start), [], [])
        if self.kinds[self.i] == "**":
            return self.dict_display(start)
        first = self.starred_or_named()
        if self.kinds[self.i] == ":":
            return self.dict_display(start, first)
        if self.kinds[self.i] == "for":
            generators = self.clauses(first)
            self.expect("}")
            return tree.SetComp(self.span_from(start), first, generators)
        elements = self.more_elements(first, "}")
        self.expect("}")
        return tree.Set(self.span_from(start), elements)

    def dict_display(self, start: int, first: expr | None = None) -> expr:
        """Read the rest of a dict, from `**` or from the colon behind its `first` key on."""
        keys: list[expr | None] = []
        values: list[expr] = []
        while True:
            if first is None and self.accept("**"):
                keys.append(None)
                values.append(self.binary(OPERAND))
            else:
                key = first or self.expression()
                first = None
                self.expect(":", "a dict's items are `key: value`")
                keys.append(key)
                values.append(self.expression())
                if self.kinds[self.i] == "for" and len(keys) == 1:
                    generators = self.clauses(key)
                    self.expect("}")
                    return tree.DictComp(self.span_from(start), key, values[0], generators)
            if not self.accept(",") or self.kinds[self.i] == "}":
                self.expect("}")
                return tree.Dict(self.span_from(start), keys, values)

    # comprehensions

    def comprehension_tail(self, start: int, element: expr) -> expr:
        """Read the clauses of a generator expression whose element is read; its brackets are the caller's."""
        generators = self.clauses(element)
        return tree.GeneratorExp(self.span_from(start), element, generators)

    def clauses(self, element: expr) -> list[tree.comprehension]:
        """Read the clauses of a comprehension.

        clauses: ('for' targets 'in' binary ('if' binary)*)+
        """
        if isinstance(element, tree.Starred):
            self.fail("iterable unpacking cannot be used in comprehension", "write one more `for` clause", span=element.span)
        generators = []
        while self.accept("for"):
            start = self.i - 1
            target = self.for_targets(bind=False)
            self.expect("in", "a clause is `for target in iterable`")
            iterable = self.binary(1)
            conditions: list[expr] = []
            while self.accept("if"):
                conditions.append(self.binary(1))
            generators.append(tree.comprehension(self.span_from(start), target, iterable, conditions))
        return generators

    def for_targets(self, bind: bool) -> expr:
        """Read the targets of a loop.

        targets: ('*' binary | binary) (',' …)* [',']      up to `in`
        """
        start = self.i
        elements: list[expr] = []
        several = False
        while not elements or self.kinds[self.i] != "in":
            elements.append(self.starred() if self.kinds[self.i] == "*" else self.binary(OPERAND))
            if not self.accept(","):
                break
            several = True
        target = tree.Tuple(self.span_from(start), elements) if several else elements[0]
        self.check_target(target, "assign to", bind=bind)
        return target


def _merged(parts: list[expr]) -> list[expr]:
    """Return the parts of an f-string with neighbouring texts made one and empty ones left out."""
    merged: list[expr] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, tree.Constant) and isinstance(last, tree.Constant):
            merged[-1] = tree.Constant(last.span.to(part.span), f"{last.value}{part.value}")
        elif not isinstance(part, tree.Constant) or part.value:
            merged.append(part)
    return merged
