"""The script's text as its tree sees it: the statement at a place with what is around it, what it reads, and edits of it."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradsh.compiler.scopes import children
from gradsh.language import tree
from gradsh.language.node import SyntaxNode, expr, stmt
from gradsh.text.fix import Edit
from gradsh.text.span import Source, Span, text_of

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

SILENT = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
FACTORIES = frozenset({
    "tensor", "zeros", "ones", "rand", "randn", "full", "empty", "linspace", "eye", "arange", "zeros_like", "ones_like", "rand_like",
    "randn_like", "full_like", "logspace", "normal",
})
STORING = frozenset({"append", "appendleft", "add", "extend", "insert", "push", "put", "update", "setdefault"})
"""Methods that store what they are given."""
WITH_INDICES = frozenset({"max", "min", "sort", "topk", "median", "mode", "kthvalue"})
"""Operations that return values and the indices where they were."""
BLOCKS = ("body", "orelse", "finalbody")
_EXPECTED = re.compile(r"expect error(?:\s+\w+)?:\s*")


class Site(NamedTuple):
    """A statement, its source, and the nodes around it, outermost first."""

    statement: stmt
    source: Source
    parents: tuple[SyntaxNode, ...]

    @property
    def line(self) -> int:
        """The line on which it begins."""
        return self.statement.span.line

    @property
    def function(self) -> tree.FunctionDef | None:
        """The innermost function around it."""
        return next((one for one in reversed(self.parents) if isinstance(one, tree.FunctionDef)), None)

    @property
    def owner(self) -> tree.ClassDef | None:
        """The innermost class around it."""
        return next((one for one in reversed(self.parents) if isinstance(one, tree.ClassDef)), None)

    @property
    def loops(self) -> tuple[SyntaxNode, ...]:
        """The loops around it in its own function, outermost first."""
        found: list[SyntaxNode] = []
        for one in self.parents:
            if isinstance(one, tree.FunctionDef | tree.ClassDef):
                found = []
            elif isinstance(one, tree.For | tree.While):
                found.append(one)
        return tuple(found)

    @property
    def block(self) -> list[stmt]:
        """The statements of the block in which it stands."""
        for parent in reversed(self.parents):
            for name in BLOCKS:
                held = getattr(parent, name, None)
                if isinstance(held, list) and any(one is self.statement for one in held):
                    return held
        return [self.statement]

    @property
    def indent(self) -> str:
        """The blanks before it."""
        line = self.source.line(self.line)
        return line[: len(line) - len(line.lstrip())]

    @property
    def text(self) -> str:
        """Its text, from its first column on, without a comment on its last line."""
        return text_of(self.source, self.statement.span)

    def alone(self) -> bool:
        """Whether nothing but a comment stands beside it on its lines."""
        span = self.statement.span
        before = _EXPECTED.sub("", self.source.line(span.line)[: span.column - 1]).strip()
        after = self.source.line(span.end_line)[span.end_column - 1 :].strip()
        return not before and (not after or after.startswith("#"))

    def same_scope(self, other: "Site") -> bool:
        """Whether another statement stands in the same function, or both at the top level."""
        return self.function is other.function

    def same_block(self, other: "Site") -> bool:
        """Whether another statement stands in the same block; the top level is one block, whatever a person typed at once."""
        if not self.parents and not other.parents:
            return True
        return any(one is other.statement for one in self.block)


def detached(source: Source, node: Any) -> list[tuple[Source, Span, str]]:
    """Return what is written differently so that an expression gives values without a history: the parts of a display."""
    if isinstance(node, tree.ListComp | tree.GeneratorExp):
        return detached(source, node.elt)
    if isinstance(node, tree.Tuple | tree.List | tree.Dict):
        parts = node.values if isinstance(node, tree.Dict) else node.elts
        return [one for part in parts if not isinstance(part, tree.Constant) for one in detached(source, part)]
    return [(source, node.span, f"{closed(source, node)}.detach()")]


def tail_of(node: SyntaxNode) -> Span:
    """Return the span of `.name` or `.name(…)` at the end of an attribute or a method's call."""
    func: Any = node.func if isinstance(node, tree.Call) else node
    return Span(func.span.end_line, func.span.end_column - len(func.attr) - 1, *node.span[2:])


def closed(source: Source, node: SyntaxNode) -> str:
    """Return the text of an expression, in brackets where a method could not follow it."""
    text = text_of(source, node.span)
    return text if isinstance(node, tree.Name | tree.Attribute | tree.Call | tree.Subscript) else f"({text})"


class Code:
    """The statements that a machine has compiled."""

    def __init__(self, machine: "Machine") -> None:
        self.machine = machine
        self._sites: list[Site] | None = None

    @property
    def sites(self) -> list[Site]:
        """Every statement that the program still stands on, the latest of the top level first, outer ones before those inside."""
        if self._sites is None:
            self._sites = [site for unit in self.machine.units.all() for statement in reversed(unit.statements)
                           for site in _walk(statement, unit.source, ())]
        return self._sites

    def at(self, span: Span, source: Source) -> Site | None:
        """Return the innermost statement that covers a span; the body of a compound one is not covered by its header."""
        best = None
        for site in self.sites:
            if site.source is source and site.statement.span.covers(span) and (
                best is None or best.statement.span.covers(site.statement.span)
            ):
                best = site
        return best

    def named(self, name: str) -> Iterator[tuple[Site, SyntaxNode]]:
        """Yield the statements that name something, with the name or the attribute that does."""
        for site in self.sites:
            yield from ((site, node) for node in headed(site.statement) if path_of(node).rpartition(".")[2] == name)

    def functions(self, name: str) -> list[Site]:
        """Return the definitions of the functions and methods of a name, latest first."""
        return [site for site in self.sites if isinstance(site.statement, tree.FunctionDef) and site.statement.name == name]


def _walk(statement: stmt, source: Source, parents: tuple[SyntaxNode, ...]) -> Iterator[Site]:
    stack: list[tuple[stmt, tuple[SyntaxNode, ...]]] = [(statement, parents)]
    while stack:
        node, around = stack.pop()
        yield Site(node, source, around)
        inner = (*around, node)
        below: list[stmt] = []
        for child in children(node):
            if isinstance(child, stmt):
                below.append(child)
            elif isinstance(child, tree.ExceptHandler):
                below += child.body
        stack.extend((child, inner) for child in reversed(below))


def headed(statement: stmt) -> Iterator[SyntaxNode]:
    """Yield the expressions of a statement itself, not of the statements inside it, with all that is in them."""
    stack: list[SyntaxNode] = [child for child in children(statement) if isinstance(child, expr | tree.withitem)]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in children(node) if not isinstance(child, stmt))


def path_of(node: object) -> str:
    """Return a name, an attribute of one or an item of one as it is written (`self.h`, `state`); empty for anything else."""
    if isinstance(node, tree.Name):
        return node.id
    if isinstance(node, tree.Attribute):
        owner = path_of(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def keyed_path(node: Any) -> str:
    """Return the path of an expression, with the word by which it is taken out of a dictionary (`self.saved["losses"]`)."""
    key = constant(node.slice) if isinstance(node, tree.Subscript) else None
    path = path_of(node.value) if isinstance(key, str) else ""
    return f'{path}["{key}"]' if path else path_of(base_of(node))


def base_of(node: object) -> object:
    """Return what an item or a slice is taken of, through all subscripts."""
    while isinstance(node, tree.Subscript):
        node = node.value
    return node


def targets_of(statement: stmt) -> list[expr]:
    """Return what a statement binds or writes, tuples taken apart."""
    found: list[Any] = []
    if isinstance(statement, tree.Assign):
        found = list(statement.targets)
    elif isinstance(statement, tree.AugAssign | tree.AnnAssign | tree.For):
        found = [statement.target]
    out: list[expr] = []
    while found:
        one = found.pop(0)
        if isinstance(one, tree.Tuple | tree.List):
            found[:0] = one.elts
        elif isinstance(one, tree.Starred):
            found.insert(0, one.value)
        elif one is not None:
            out.append(one)
    return out


def drawn_from(loop: tree.For, name: str) -> Any:
    """Return the expression whose items a loop binds to a name, through `zip` and `enumerate`."""
    names = [path_of(one) for one in targets_of(loop)]
    place, call = names.index(name) if name in names else 0, loop.iter
    if isinstance(call, tree.Call) and path_of(call.func) in {"zip", "enumerate"}:
        place = place if path_of(call.func) == "zip" else place - 1
        return call.args[place] if 0 <= place < len(call.args) else None
    return call


def written(statement: stmt) -> set[str]:
    """Return the paths that a statement binds."""
    return {path_of(base_of(one)) for one in targets_of(statement)} - {""}


def reads(node: SyntaxNode) -> list[str]:
    """Return the paths that an expression, or a statement's own expressions, read: `self.h` and its parts."""
    found: dict[str, None] = {}
    parts: Iterator[SyntaxNode] = headed(node) if isinstance(node, stmt) else _inside(node)
    bound = set(map(id, targets_of(node))) if isinstance(node, tree.Assign | tree.For) else set()
    for part in parts:
        if id(part) not in bound and (path := path_of(part)):
            found[path] = None
    return list(found)


def _inside(node: SyntaxNode) -> Iterator[SyntaxNode]:
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(children(one))


def inside(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """Yield a node and all below it."""
    return _inside(node)


def constant(node: object) -> Any:
    """Return the text or the whole number that an expression writes out; None for any other."""
    return node.value if isinstance(node, tree.Constant) and isinstance(node.value, str | int) else None


def display_part(node: object, item: int | None) -> object:
    """Return the expression that gives a part of a container written out; None: all of it is meant."""
    if item is None:
        return None
    if isinstance(node, tree.Dict):
        return {constant(key): value for key, value in zip(node.keys, node.values, strict=True)}.get(item)
    return dict(enumerate(getattr(node, "elts", []))).get(item)


def place_in_targets(statement: stmt, name: str) -> int | None:
    """Return at which place of a tuple an assignment binds a name."""
    for target in statement.targets if isinstance(statement, tree.Assign) else ():
        elements: list[Any] = getattr(target, "elts", [])
        names = [path_of(one) for one in elements]
        if name in names and not any(isinstance(one, tree.Starred) for one in elements):
            return names.index(name)
    return None


def freezes(statement: stmt) -> bool:
    """Whether a statement sets `requires_grad` to False."""
    return is_false(_asked(statement))


def _asked(statement: stmt) -> object:
    """Return what a statement sets `requires_grad` to; None where it sets none."""
    if isinstance(statement, tree.Assign):
        told = any(isinstance(one, tree.Attribute) and one.attr == "requires_grad" for one in statement.targets)
        return statement.value if told else None
    call = statement.value if isinstance(statement, tree.Expr) else None
    named = isinstance(call, tree.Call) and getattr(call.func, "attr", "") == "requires_grad_"
    return call.args[0] if named and isinstance(call, tree.Call) and call.args else None


def freezing(code: "Code") -> list[tuple[Site, Any]]:
    """Return the statements that tell tensors to need no gradient, also by a function that is told so, with their `False`."""
    asked = [(site, _asked(site.statement)) for site in code.sites]
    found = [(site, node) for site, node in asked if is_false(node)]
    told = {site.function.name for site, node in asked if site.function is not None
            and path_of(node) in {one.arg for one in site.function.args.args}}
    for site in code.sites if told else ():
        for node in headed(site.statement):
            if isinstance(node, tree.Call) and path_of(node.func).rpartition(".")[2] in told:
                given = [*node.args, *(word.value for word in node.keywords)]
                found += [(site, one) for one in given if is_false(one)]
    return found


def is_false(*nodes: object) -> bool:
    """Whether the first of some arguments is the word False."""
    return bool(nodes) and isinstance(nodes[0], tree.Constant) and nodes[0].value is False


def silenced(site: Site) -> tree.With | None:
    """Return the innermost `with` around a statement, in its function, that turns histories off."""
    found = None
    for one in site.parents:
        if isinstance(one, tree.FunctionDef):
            found = None
        elif isinstance(one, tree.With) and any(is_silent(item.context_expr) for item in one.items):
            found = one
    return found


def is_silent(node: SyntaxNode) -> bool:
    """Whether an expression names what turns histories off, and does not turn them on."""
    return any(path_of(part).rpartition(".")[2] in SILENT for part in inside(node)) and not any(
        isinstance(part, tree.Constant) and part.value is True for part in inside(node))


def callable_by_name(value: object) -> bool:
    """Whether a value is a function or a class: what a call runs is found by its name."""
    return isinstance(value, type) or hasattr(value, "__code__") or hasattr(value, "__func__")


class Draft:
    """Edits on their way: spans to be written differently and lines to be put in, of one or several sources.

    What cannot be written as edits of whole lines makes the draft unfit: it has no edits.
    """

    def __init__(self) -> None:
        self._spans: list[tuple[Source, Span, str]] = []
        self._lines: list[Edit] = []
        self._removed: list[stmt] = []
        self.unfit = False

    def replace(self, source: Source, span: Span, text: str) -> "Draft":
        """Write other text in the place of a span."""
        if any(other is source and (span.covers(at) or at.covers(span)) for other, at, _ in self._spans):
            self.unfit = True
        self._spans.append((source, span, text))
        return self

    def replace_all(self, parts: Iterable[tuple[Source, Span, str]]) -> "Draft":
        """Write other texts in the place of several spans."""
        for part in parts:
            self.replace(*part)
        return self

    def insert(self, site: Site, how: str, *lines: str) -> "Draft":
        """Put lines `before` or `after` a statement, indented as it is."""
        if not site.alone() and not (how == "before" and not site.source.line(site.line)[: site.statement.span.column - 1].strip()):
            self.unfit = True
        span = site.statement.span
        line = span.line if how == "before" else span.end_line
        if how == "before" and isinstance(site.statement, tree.FunctionDef | tree.ClassDef):
            line = min([line, *(one.span.line for one in site.statement.decorator_list)])
        text = "\n".join(site.indent + one for one in lines)
        self._lines.append(Edit(line, how, text, site.source.name))
        return self

    def remove(self, site: Site) -> "Draft":
        """Take a statement away; `pass` stands for it where its block would be empty."""
        if not site.alone():
            self.unfit = True
        self._removed.append(site.statement)
        gone = set(map(id, self._removed))
        empty = bool(site.parents) and all(id(one) in gone for one in site.block)
        return self.replace(site.source, site.statement.span, "pass" if empty else "")

    def wrap(self, site: Site, header: str, last: Site | None = None) -> "Draft":
        """Put a statement, or those of its block up to the last, into a block."""
        last = last or site
        if not site.alone() or not last.alone():
            self.unfit = True
        source = site.source
        self._lines.append(Edit(site.line, "before", site.indent + header, source.name))
        return self.indent(source, site.line, last.statement.span.end_line)

    def indent(self, source: Source, first: int, last: int) -> "Draft":
        """Put lines one step to the right."""
        for number in range(first, last + 1):
            line = source.line(number)
            text = _EXPECTED.sub("", line, count=1) if number == first else line
            self._lines.append(Edit(number, "replace", f"    {text}" if text.strip() else text, source.name))
        return self

    def edits(self, failing: tuple[Source, int] | None = None) -> tuple[Edit, ...]:
        """Return the edits, none of a draft that is unfit; the line of the failing statement loses an `expect error:`."""
        spans = list(self._spans)
        lines = list(self._lines)
        for source, number in {(id(source), number): (source, number) for source, span, _ in spans
                               for number in range(span.line, span.end_line + 1)}.values():
            new = _rewritten(source, number, [(span, text) for other, span, text in spans if other is source])
            if new is not None and new != source.line(number):
                lines.append(Edit(number, "replace", _EXPECTED.sub("", new if new.strip() else "", count=1), source.name))
        if failing is not None:
            source, number = failing
            line = source.line(number)
            if _EXPECTED.match(line.strip()) and not any(one.line == number and one.how == "replace" for one in lines):
                lines.append(Edit(number, "replace", _EXPECTED.sub("", line, count=1), source.name))
        replaced = [(one.file, one.line) for one in lines if one.how == "replace"]
        if self.unfit or len(replaced) != len(set(replaced)):
            return ()
        return tuple(sorted(lines, key=lambda one: (one.file, one.line, one.how)))


def _rewritten(source: Source, number: int, spans: list[tuple[Span, str]]) -> str | None:
    """Return a line with the spans on it written anew; a span's later lines lose what was in it."""
    line = source.line(number)
    pieces = []
    for span, text in spans:
        if span.line <= number <= span.end_line:
            start = span.column - 1 if number == span.line else 0
            end = span.end_column - 1 if number == span.end_line else len(line)
            pieces.append((start, end, text if number == span.line else ""))
    for start, end, text in sorted(pieces, reverse=True):
        line = line[:start] + text + line[end:]
    return line if pieces else None
