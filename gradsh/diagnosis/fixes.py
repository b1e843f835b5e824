"""What finds the fixes of a failure: candidates by rule, PyTorch's own before gradsh's commands. `trial.py` tries them.

Each rule looks at the cause and at the script's tree and offers edits; it needs no proof that they work, since only those
that were seen to work are offered with their edits. A kind's rules stand in a file `fixes_*.py`; `rules.py` has the list.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from gradsh.compiler.scopes import bound_names
from gradsh.diagnosis.case import Case
from gradsh.diagnosis.cause import Cause
from gradsh.diagnosis.code import Code, Draft, Site, constant, headed, path_of, reads
from gradsh.diagnosis.provenance import expression_at
from gradsh.engine.graph.tensor import Tensor, last_node_of
from gradsh.language import tree
from gradsh.probe.modules import is_module
from gradsh.probe.snapshot import nodes_below
from gradsh.runtime.activation import Place
from gradsh.text.fix import Edit, Fix
from gradsh.text.span import Source, Span

MOST_NODES = 20_000
_MOST_OBJECTS, _FEW_ITEMS = 500, 10
"""Objects in reach in which an attribute is looked for, and items of a container that are."""
_REBINDING = re.compile(r"( *)(\w+) = (?:.*[^\w.])?\2\b")
"""A line that binds a name which it reads."""


class Finder:
    """Collects the fixes of one failure, with what its rules ask of the program."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.cause: Cause = case.cause
        self.code = Code(case.machine)
        self.fixes: list[Fix] = []
        self.failing = (case.source, case.line)
        needed = self.cause.needed
        self._repeats = needed is None or any(map(_is_repeated, self.levels(needed)))
        """Whether a loop runs the failing statement again and again."""

    def offer(
        self, words: str, draft: Draft, effect: str = "", *, changes: str = "", here: bool = False, guess: bool = False,
        last: bool = False,
    ) -> None:
        """Offer a fix, if its edits can be written and are no other's."""
        edits = draft.edits(self.failing)
        words = words if self._repeats else words.replace(" in each iteration", "")
        files = {edit.file for edit in edits} - {self.case.source.name}
        words = f"in {', '.join(sorted(files))}: {words}" if files else words
        if edits and all(edits != one.edits for one in self.fixes) and not self._is_unbound(edits):
            self.fixes.append(Fix(words, effect, edits, changes=changes, here=here, guess=guess, last=last))

    def _is_unbound(self, edits: tuple[Edit, ...]) -> bool:
        """Whether edits would bind a name in a function that reads the name from outside: the name would be local, without a value."""
        for edit in edits:
            match = _REBINDING.match(edit.text)
            source = next((one.source for one in self.code.sites if one.source.name == edit.file), None)
            site = source and match and self.code.at(Span(edit.line, match.end(1) + 1, edit.line, match.end(1) + 1), source)
            function = site.function if site else None
            if match is not None and function is not None:
                given = function.args
                parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
                own = {one.arg for one in parameters if one is not None} | {name for name, _ in bound_names(function.body)}
                if match[2] not in own:
                    return True
        return False

    # -------------------------------------------------------------- places

    def site(self, place: Place | None) -> Site | None:
        """Return the statement of a place."""
        return None if place is None else self.code.at(place.span, place.source) or self.code.at(place.statement, place.source)

    def levels(self, place: Place) -> list[Site]:
        """Return the statements that led to a place, the top-level one first, its own last."""
        spans = [*((call.span, call.source) for call in place.calls), (place.span, place.source)]
        return [site for span, source in spans if (site := self.code.at(span, source)) is not None]

    def parting(self, one: Place, other: Place) -> tuple[Site, Site] | None:
        """Return the statements of one block from which two places were reached, where their ways part."""
        for mine, yours in zip(self.levels(one), self.levels(other), strict=False):
            if mine.statement is not yours.statement:
                return (mine, yours) if mine.same_block(yours) else None
        return None

    def expression(self, span: Span, source: Source) -> Any:
        """Return the outermost expression that has a span."""
        for unit in self.case.machine.units.all():
            if unit.source is source and (found := expression_at(unit, span)) is not None:
                return found
        return None

    def text(self, place: Place) -> str:
        """Return the text of a place."""
        return self.case.text(place.span, place.source)

    # -------------------------------------------------------------- values

    def scopes(self) -> list[dict[str, object]]:
        """Return the variables of the frames that failed, innermost first, and the program's."""
        local = [frame.local for frame in reversed(self.case.origins.frames) if frame.local]
        return [*local, self.case.machine.variables()]

    def value(self, path: str) -> Any:
        """Return what a path means in the innermost frame that has its head, else in any object that has its last part."""
        if path.endswith('"]'):
            path, _, key = path[:-2].rpartition('["')
            held = self.value(path)
            return held.get(key) if isinstance(held, dict) else None
        head, *rest = path.split(".")
        for scope in self.scopes():
            if head in scope:
                found = scope[head]
                for name in rest:
                    found = attribute(found, name)
                if found is not None:
                    return found
        if not rest:
            return None
        owner = next((owner for _, owner in self.owners(rest[-1])), None)
        return attribute(owner, rest[-1])

    def value_of(self, node: object) -> Any:
        """Return what a path means, or an item of one that a path or a word takes out."""
        if not isinstance(node, tree.Subscript):
            return self.value(path_of(node)) if path_of(node) else None
        owner, key = self.value_of(node.value), constant(node.slice)
        key = self.value_of(node.slice) if key is None else key
        known = isinstance(owner, dict) and isinstance(key, str | int) and key in owner
        return owner[key] if known else None

    def owners(self, name: str) -> list[tuple[str, Any]]:
        """Return (path, object) of the objects in reach that have an attribute; the innermost frame's first."""
        return [(path, one) for path, one in self._reach() if attribute(one, name) is not None]

    def modules(self) -> list[tuple[str, Any]]:
        """Return (path, module) of the modules in reach, the innermost frame's first."""
        return [(path, one) for path, one in self._reach() if is_module(one)]

    def _reach(self) -> Iterator[tuple[str, object]]:
        """Yield the variables and what they hold, each object once."""
        seen = set[int]()
        for scope in self.scopes():
            reach = list(scope.items())
            for key, one in reach:
                if id(one) in seen:
                    continue
                seen.add(id(one))
                yield key, one
                if len(reach) < _MOST_OBJECTS:
                    reach += [(f"{key}[{part}]" if part.isdigit() else f"{key}.{part}", inner) for part, inner in held(one)]
                    reach += [(f"{key}[{place!r}]", inner) for place, inner in _items(one) if not hasattr(inner, "grad_fn")]
                    lists = [(name, part) for name, part in (vars(one) if hasattr(one, "__dict__") else {}).items()
                             if type(part) in {list, dict} and not name.startswith("_")]
                    reach += [(f"{key}.{name}[{place!r}]", inner) for name, part in lists for place, inner in _items(part)]

    def holder(self, path: str) -> Any:
        """Return what a path means in the object in reach for which that has the failing node, else as `value` does."""
        value, name = self.value(path), path.rpartition(".")[2]
        if name == path or self.holds(value) or path.endswith('"]'):
            return value
        return next((one for _, owner in self.owners(name) if self.holds(one := attribute(owner, name))), value)

    def root(self, value: object) -> Any:
        """Return the node that made a value, None for what no operation made."""
        tensor = self.tensor(value)
        return None if tensor is None else last_node_of(tensor)

    def tensor(self, value: object) -> Tensor | None:
        """Return a value that is a tensor, in the engine's form; no other object is asked for what tensors have."""
        found = self.case.machine.in_engine_form(value)
        return found if isinstance(found, Tensor) else None

    def learns(self, value: object) -> bool:
        """Whether a value is a tensor that requires grad."""
        tensor = self.tensor(value)
        return tensor is not None and tensor.requires_grad

    def holds(self, value: object, depth: int = 3) -> bool:
        """Whether a tensor, or one in a container, has the failing node in its graph."""
        failing = self.cause.node
        if failing is None:
            return False
        return self._any_node(value, lambda node: node.seq == failing.seq and node.name() == failing.name(), depth)

    def below_failing(self) -> set[int]:
        """Return the sequence numbers of the nodes below what the failing statement reads; none where they are too many to be looked at."""
        site = self.site(self.cause.needed)
        roots = [] if site is None else [root for path in reads(site.statement) if (root := self.root(self.value(path))) is not None]
        found = {node.seq for root in roots for node in islice(nodes_below(root), MOST_NODES)}
        return found if len(found) < MOST_NODES else set()

    def holds_any(self, value: object, below: set[int]) -> bool:
        """Whether a tensor, or one in a container, was made by one of some nodes, told by their sequence numbers."""
        return self._any_root(value, lambda root: root.seq in below, 3)

    def is_freed(self, value: object) -> bool:
        """Whether a tensor, or one in a container, has a node in its graph whose saved tensors were freed."""
        return self._any_node(value, lambda node: bool(node.freed), 3)

    def _any_node(self, value: object, test: Callable[[Any], bool], depth: int) -> bool:
        return self._any_root(value, lambda root: any(test(node) for node in islice(nodes_below(root), MOST_NODES)), depth)

    def _any_root(self, value: Any, test: Callable[[Any], bool], depth: int) -> bool:
        if depth == 0:
            return False
        root = self.root(value)
        if root is not None:
            return test(root)
        parts = list(value.values()) if isinstance(value, dict) else list(value) if _is_sequence(value) else []
        return any(self._any_root(part, test, depth - 1) for part in parts[-1000:])


def _is_repeated(level: Site) -> bool:
    """Whether a loop or a comprehension runs a statement, or the calls in it, again and again."""
    return bool(level.loops) or any(isinstance(node, tree.ListComp | tree.GeneratorExp | tree.SetComp | tree.DictComp)
                                    for node in headed(level.statement))


def _is_sequence(value: object) -> bool:
    from collections import deque

    return isinstance(value, list | tuple | deque)


def attribute(value: object, name: str) -> Any:
    """Return an attribute that an object holds, without running anything; None where it holds none."""
    try:
        own = vars(value)
    except TypeError:
        return None
    if not isinstance(own, dict) or isinstance(value, type):
        return None
    if name in own:
        return own[name]
    for table in ("_parameters", "_buffers", "_modules"):
        kept = own.get(table)
        if isinstance(kept, dict) and name in kept:
            return kept[name]
    return None


def held(value: object) -> list[tuple[str, Any]]:
    """Return the objects that an object of the script's holds as attributes."""
    own = getattr(value, "__dict__", None)
    if not isinstance(own, dict):
        return []
    modules = own.get("_modules")
    more = list(modules.items()) if isinstance(modules, dict) else []
    return [(name, one) for name, one in [*list(own.items())[:100], *more] if isinstance(name, str) and hasattr(one, "__dict__")]


def _items(value: object) -> list[tuple[object, object]]:
    """Return some of the objects that a list or a dictionary holds, or an object's attributes that are such, by key."""
    if isinstance(value, list | tuple):
        return [(place, one) for place, one in enumerate(value[:_FEW_ITEMS]) if hasattr(one, "__dict__")]
    if isinstance(value, dict):
        return [(key, one) for key, one in list(value.items())[:_FEW_ITEMS] if isinstance(key, str | int) and hasattr(one, "__dict__")]
    return []


def call_in(site: Site, name: str) -> tree.Call | None:
    """Return the call of a method or function of a name in a statement."""
    for node in headed(site.statement):
        if isinstance(node, tree.Call) and (path_of(node.func).rpartition(".")[2] or getattr(node.func, "attr", "")) == name:
            return node
    return None


def with_keyword(text: str, word: str) -> str | None:
    """Return the text of a call with a keyword set to True; None where it has that already, or is no call."""
    name = word.partition("=")[0]
    if re.search(rf"\b{name}\s*=\s*False", text):
        return re.sub(rf"\b{name}\s*=\s*False", word, text)
    if not text.endswith(")") or re.search(rf"\b{name}\s*=", text):
        return None
    inside = text[:-1].rstrip().removesuffix(",")
    return f"{inside}{'' if inside.endswith('(') else ', '}{word})"
