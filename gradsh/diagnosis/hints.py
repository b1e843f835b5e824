"""Mistakes that nothing fails for: found from the passes of a program, its graph and its tree, each told once.

`Hints` is told before and after each backward pass and at the end. What it asks goes through the probes' protocol (nodes,
saved tensors, tensors, places), so that a lens on PyTorch can ask the same. A rule tells only what it has seen to happen.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gradsh.diagnosis.code import Code, Site, inside, written
from gradsh.diagnosis.fixes import attribute, held
from gradsh.diagnosis.silent_writes import Write, silent_writes, untrained_layers
from gradsh.engine.graph.types import Location
from gradsh.engine.values.storage import memory_key
from gradsh.language import tree
from gradsh.probe.foreign import tensor_of
from gradsh.probe.modules import is_module, modules_of, parameters_of
from gradsh.probe.snapshot import nodes_below

_MANY = 100
"""Items of a list that are looked at."""
_REACH = 1000
"""Variables and attributes that are looked at."""
_FEW = 2
"""Passes after which it is too late to have forgotten the first backward."""


class Hint(NamedTuple):
    """A mistake that was seen: its kind, the lines that make it (the one it is told at last), what to do."""

    kind: str
    lines: tuple[int, ...]
    words: str
    fix: str

    def line(self) -> str:
        """Return the hint as it is told."""
        return f"hint: {self.words}; {self.fix} (`explain silent`)"


class _Leaf(NamedTuple):
    """A leaf as the latest pass that wrote its gradient left it."""

    leaf: weakref.ref[Any]
    version: int
    line: int
    stale: int = -1
    """The version at which a pass added to a gradient that an update had used; -1 for none."""
    passes: int = 1
    """How many passes wrote its gradient."""


class Hints:
    """Follows one program. `machine` gives its tree and places, `tell` is given each hint once."""

    def __init__(self, machine: Any, tell: Callable[[Hint], None]) -> None:
        self.machine = machine
        self.tell = tell
        self.told: set[tuple[str, tuple[int, ...]]] = set()
        self.leaves: dict[int, _Leaf] = {}
        self.reached: dict[int, weakref.ref[Any]] = {}
        """Leaves to which a pass has ever brought a gradient."""
        self.given: dict[int, weakref.ref[Any]] = {}
        """Parameters that an optimizer has."""
        self.stepped = False
        """Whether one has stepped."""
        self.passes = 0
        self._looked: dict[str, tuple[int, tuple[int, ...]]] = {}
        """name -> the passes and the nodes that there were when its graphs were looked at last"""
        self._early: list[list[Any]] = []
        self._adding: set[int] = set()
        self._writes: tuple[int, list[Write]] = (-1, [])

    def _hint(self, kind: str, lines: Iterable[int], words: str, fix: str) -> None:
        hint = Hint(kind, tuple(lines), words, fix)
        if (kind, hint.lines) not in self.told:
            self.told.add((kind, hint.lines))
            self.tell(hint)

    def _code(self) -> Code:
        return Code(self.machine)

    def _silent_writes(self) -> list[Write]:
        count = len(self.machine.units)
        if self._writes[0] != count:
            self._writes = (count, silent_writes(self._code()))
        return self._writes[1]

    def _line(self, where: Location) -> int:
        return self.machine.locate(where).statement.line if where is not None else 0

    # -------------------------------------------------------------- passes

    def before(self, nodes: Iterable[object], where: object, scope: Mapping[str, object]) -> None:
        """Look before a pass: who was stepped without a gradient, which saved tensors were written unseen, which gradients are used."""
        self.passes += 1
        if self.passes & (self.passes - 1) == 0:  # now and then: to look through all variables takes a while
            self._note_given(scope)
            self._summed(scope)
        writes = [one for one in self._silent_writes() if not one.shared]
        if writes:
            self._written(writes, list(nodes), where, scope)
        self._detached(scope)
        self._adding = {key for key, known in self.leaves.items() if self._is_used(known)}

    def _note_given(self, scope: Mapping[str, object]) -> None:
        """Note the parameters that optimizers have, and those of optimizers that stepped without a gradient."""
        self._early = []
        for steps, parameters in _optimizers(scope):
            self.given.update((id(one), weakref.ref(one)) for one in parameters)
            self.stepped = self.stepped or steps > 0
            if steps and self.passes <= _FEW and not any(id(one) in self.reached or _gradient(one) is not None for one in parameters):
                self._early.append(parameters)

    def _is_used(self, known: _Leaf) -> bool:
        """Whether a leaf still has the gradient that an update has used; tells where a second update has used it again."""
        leaf = known.leaf()
        gradient = None if leaf is None else _gradient(leaf)
        if leaf is None or gradient is None or not gradient.array.any():
            return False
        if known.stale >= 0 and leaf.counter.version != known.stale:
            self._accumulated(known, leaf)
        return bool(leaf.counter.version != known.version)

    def _accumulated(self, known: _Leaf, leaf: Any) -> None:
        where = leaf.counter.writes[-1][1] if leaf.counter.writes else None
        if where is not None and not self._uses_gradients(where):
            return
        update = self._line(where) if where is not None else 0
        self._hint(
            "accumulated", (update, known.line),
            f"line {known.line} adds to gradients that line {update} has already used: nothing resets them in between",
            f"write `optimizer.zero_grad()`, or `.grad = None`, before line {known.line}",
        )

    def _uses_gradients(self, where: Location) -> bool:
        """Whether an update computes with gradients, as far as its function (at the top level its outermost statement) tells."""
        place = self.machine.locate(where)
        site = None if place is None else self._code().at(place.statement, place.source)
        if site is None:
            return True
        around = site.function or next(iter(site.parents), site.statement)
        return any(isinstance(part, tree.Attribute) and part.attr in {"grad", "step"} for part in inside(around))

    def after(self, wrote: Iterable[Any], where: object, scope: Mapping[str, object]) -> None:
        """Note the leaves to which a pass brought gradients."""
        del scope
        line = self._line(where)
        leaves = list(wrote)
        for leaf in leaves:
            self.reached[id(leaf)] = weakref.ref(leaf)
            version, before = leaf.counter.version, self.leaves.get(id(leaf))
            stale = version if id(leaf) in self._adding and before is not None else -1
            self.leaves[id(leaf)] = _Leaf(weakref.ref(leaf), version, line, stale, before.passes + 1 if before is not None else 1)
        known = {id(leaf) for leaf in leaves}
        for parameters in self._early:
            at = self._step_line(before=line)
            if at and any(id(one) in known for one in parameters):
                self._hint("early step", (at, line), f"the optimizer's step on line {at} ran before the first backward (line {line}): "
                           "there were no gradients, so nothing was updated", f"call it after line {line}")
        self._early = []

    # -------------------------------------------------------------- writes that autograd does not see

    def _written(self, writes: list[Write], nodes: list[Any], where: object, scope: Mapping[str, object]) -> None:
        """A saved tensor was written through `.data` between the line that saved it and the pass that needs it."""
        line, running = self._line(where), self._running(where)
        for write in writes:
            memories = {memory_key(tensor.array) for value in _values(scope, write.path) if (tensor := tensor_of(value)) is not None}
            for node in nodes:
                place = self.machine.locate(node.location) if node.location is not None else None
                if place is None or place.source.name != write.site.source.name or not place.statement.line < write.site.line:
                    continue
                saving = self._code().at(place.statement, place.source)
                if saving is None or not saving.same_scope(write.site) or saving.loops != write.site.loops:
                    continue
                over = saving.function is not None and saving.function not in running and saving.same_block(write.site)
                entries = [one for one in node.saved if one.array is not None and not one.freed]
                if (any(memory_key(one.array) in memories for one in entries) and (over or write.site.line < line)) or (
                    over and not memories and any(self._is_bound(saving, one, write) for one in entries)
                ):
                    self._hint(
                        "unseen write", (place.statement.line, write.site.line),
                        f"line {write.site.line} writes {write.path} through `{write.way}` after line {place.statement.line} saved it: "
                        f"autograd does not notice, so the gradients of line {line} are wrong",
                        f"write a new tensor instead, or save a copy: `{write.path}.clone()`",
                    )
                    break

    def _running(self, where: Location) -> list[tree.FunctionDef | None]:
        """Return the functions that a pass was started in."""
        place = self.machine.locate(where)
        spans = [*((call.span, call.source) for call in place.calls), (place.statement, place.source)]
        return [site.function for span, source in spans if (site := self._code().at(span, source)) is not None]

    def _is_bound(self, saving: Site, entry: Any, write: Write) -> bool:
        """Whether a saved tensor is what the function of a write, which is over, bound last to the name that is written."""
        edge = getattr(getattr(entry, "kept", None), "edge", None)
        where = getattr(edge[0], "location", None) if isinstance(edge, tuple) else None
        place = self.machine.locate(where) if where is not None else None
        bound = [one for one in self._code().sites if one.same_scope(write.site) and one.line < write.site.line
                 and write.path in written(one.statement)]
        last = max(bound, key=lambda one: one.line, default=None)
        value = last.statement.value if last is not None and isinstance(last.statement, tree.Assign) else None
        if place is None or last is None or value is None or saving.statement is last.statement:
            return False
        return place.source is last.source and place.span == value.span  # what it made on the way no other line can read

    def _detached(self, scope: Mapping[str, object]) -> None:
        """What `.detach()` gave shares its memory: a write to it changes the tensor itself."""
        for write in self._silent_writes():
            tensor = tensor_of(next(iter(_values(scope, write.path)), None)) if write.shared else None
            if tensor is None or not tensor.requires_grad or (tensor.edge is None and not write.alias):
                continue
            if any(self._line(where) == write.site.line for _, where in tensor.counter.writes or ()):
                self._hint(
                    "shared memory", (write.made, write.site.line),
                    f"line {write.site.line} writes to the result of `.detach()` on line {write.made}: "
                    f"it shares its storage with {write.path}, which changes too",
                    f"copy it: `{write.path}.detach().clone()`",
                )

    # -------------------------------------------------------------- the end

    def over(self, scope: Mapping[str, object], *, ended: bool) -> None:
        """Look at what is left when a statement is over, or (`ended`) the program."""
        if self.passes:
            self._summed(scope)
        if not ended:
            return
        for known in list(self.leaves.values()):
            self._is_used(known)
        if self.passes:
            self._detached(scope)
            self._left_out(scope)
            self._made_in_forward()
        self._evaluated(scope)

    def _summed(self, scope: Mapping[str, object]) -> None:
        """A sum of losses keeps the graph of each, though a pass has gone through them."""
        for name, value in _in_reach(scope):
            tensor = tensor_of(value)
            node = None if tensor is None or tensor.edge is None else tensor.edge[0]
            if type(value) is list:
                self._kept(name, value)
            if node is None or not self._is_new(name, [node]):
                continue
            terms = list(_terms(node))
            freed = [where for term in terms for where in _freed_by(term)] if len(terms) > 2 else []
            if len(set(map(repr, freed))) > 1:
                line, passed = self._line(node.location), self._line(freed[0])
                self._hint("summed", (passed, line), f"line {line} adds up {name} with the graphs of {len(terms)} losses, "
                           f"whose backward has run on line {passed}: the graphs stay in memory",
                           f"add numbers instead: `.item()` or `.detach()` on line {line}")

    def _is_new(self, name: str, nodes: list[Any]) -> bool:
        """Whether a name leads to other graphs than when it was looked at last, or another pass has gone through some."""
        stands = self.passes, tuple([node.seq for node in nodes])
        known, self._looked[name] = self._looked.get(name), stands
        return known != stands

    def _kept(self, name: str, values: list[Any]) -> None:
        """A list of losses keeps their graphs, though passes have gone through them."""
        tensors = [tensor for value in values[:_MANY] if (tensor := tensor_of(value)) is not None]
        nodes = [one.edge[0] for one in tensors if one.edge is not None and one.array.ndim == 0]
        if not len(values[:_MANY]) == len(nodes) > 2 or not self._is_new(name, nodes):
            return
        freed = [where for node in nodes for where in _freed_by(node)]
        if len(nodes) == len(freed) == len(set(map(repr, freed))):
            line, passed = self._line(nodes[-1].location), self._line(freed[0])
            self._hint("summed", (line, passed), f"{name} keeps the losses of line {line} with their graphs, whose backward has "
                       f"run on line {passed}", "keep numbers instead: `.item()` or `.detach()`")

    def _left_out(self, scope: Mapping[str, object]) -> None:
        """A parameter of a module gets gradients, and no optimizer updates it, while others of that module are updated."""
        self._note_given(scope)
        given = {key for key, leaf in self.given.items() if leaf() is not None}
        reached = {key for key, leaf in self.reached.items() if leaf() is not None}
        self._leaf_left_out(scope, given)
        learns = any(id(one) in given for _, module in _in_reach(scope) if is_module(module) for _, one in parameters_of(module))
        for name, module in _in_reach(scope) if self.stepped else ():
            if not is_module(module) or (not any(id(one) in given for _, one in parameters_of(module)) and not (
                learns and self._is_forgotten(module)
            )):
                continue
            for path, one in _all_parameters(name, module):
                if id(one) in reached and id(one) not in given and one.counter.version == self.leaves[id(one)].version:
                    line, step = self.leaves[id(one)].line, self._step_line()
                    self._hint("left out", (step, line), f"{path} gets gradients on line {line}, but the optimizer of line "
                               f"{step} does not have it: it is never updated",
                               "give it `parameters()` of all layers (a list of layers is an `nn.ModuleList`), or freeze it")
                    break

    def _is_forgotten(self, module: object) -> bool:
        """Whether a module in training mode gets gradients again and again for all its parameters, and nothing reads them."""
        known = [self.leaves.get(id(one)) for _, one in parameters_of(module)]
        return bool(known) and getattr(module, "training", False) is True and not self._reads_gradients() and all(
            one is not None and one.passes > _FEW for one in known)

    def _reads_gradients(self) -> bool:
        return any(True for _ in self._code().named("grad")) or any(".grad" in site.text for site in self._code().sites)

    def _leaf_left_out(self, scope: Mapping[str, object], given: set[int]) -> None:
        """A leaf that asks for gradients gets them again and again; no optimizer has it, and nothing reads them."""
        for name, value in scope.items() if self.stepped and not self._reads_gradients() else ():
            known = self.leaves.get(id(value))
            if known is None or known.leaf() is not value or known.passes <= _FEW or id(value) in given:
                continue
            self._hint("left out", (self._step_line(), known.line), f"{name} gets gradients on line {known.line}, but the optimizer "
                       f"of line {self._step_line()} does not have it: it is never updated", "give it to the optimizer")

    def _step_line(self, before: float = float("inf")) -> int:
        return max((site.line for site in self._code().sites if _calls(site, "step") and site.line < before), default=0)

    def _made_in_forward(self) -> None:
        for site, name in untrained_layers(self._code()):
            self._hint("made in forward", (site.line,), f"line {site.line} creates a new `{name}` each time forward runs: "
                       "its parameters are random each time, and no optimizer has them", "create it in `__init__`")

    def _evaluated(self, scope: Mapping[str, object]) -> None:
        """A module in eval mode records graphs as before; no pass goes through what it gives."""
        calls = [site for site in self._code().sites if _calls(site, "eval")]
        if not calls:
            return
        last = max(site.line for site in calls)
        resting = {id(one): name for name, value in scope.items() if is_module(value) and not getattr(value, "training", True)
                   for _, one in parameters_of(value)}
        later = any(_calls(site, word) for site in self._code().sites if site.line > last for word in ("backward", "grad", "train"))
        for name, value in scope.items() if resting and not later else ():
            tensor = tensor_of(value[-1] if type(value) is list and value else value)
            node = None if tensor is None or tensor.edge is None else tensor.edge[0]
            line = 0 if node is None else self._line(node.location)
            if node is None or line <= last:
                continue
            below = list(nodes_below(node))
            found = next((resting[id(leaf)] for one in below if id(leaf := getattr(one, "variable", None)) in resting), None)
            nbytes = sum(entry.nbytes for one in below for entry in one.saved if not entry.freed)
            if found is not None and nbytes:
                words = f"`{found}.eval()` on line {last} changes dropout and batch norm; operations are still recorded"
                self._hint("eval", (last, line), f"{words}: {name} of line {line} keeps a graph with {nbytes} B",
                           "compute it in `with torch.no_grad():`")


def _calls(site: Site, name: str) -> bool:
    from gradsh.diagnosis.fixes import call_in

    return not isinstance(site.statement, tree.FunctionDef | tree.ClassDef) and call_in(site, name) is not None


def _gradient(leaf: Any) -> Any:
    return None if leaf.meta is None else leaf.meta.grad


def _values(scope: Mapping[str, object], path: str) -> list[Any]:
    """Return what a path may mean: from a variable on, or, of a method that is over, in each object in reach."""
    head, *rest = path.split(".")
    found = []
    for owner in [scope[head]] if head in scope else [value for _, value in _in_reach(scope)] if head == "self" and rest else []:
        value = owner
        for name in rest:
            value = attribute(value, name)
        found += [value] if value is not None else []
    return found


def _in_reach(scope: Mapping[str, object]) -> Iterator[tuple[str, Any]]:
    """Yield the variables, and what the objects of the script's hold as attributes, by name."""
    seen: set[int] = set()
    reach: list[tuple[str, object]] = list(scope.items())
    for name, value in reach:
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield name, value
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict) and not isinstance(value, type) and len(reach) < _REACH:
            reach += [(f"{name}.{key}", one) for key, one in list(own.items())[:_MANY] if isinstance(key, str) and key[:1] != "_"]
            reach += [(f"{name}.{key}", one) for key, one in held(value) if is_module(one)]


def _optimizers(scope: Mapping[str, object]) -> Iterator[tuple[int, list[Any]]]:
    """Yield (how often it has stepped, its parameters) of the optimizers in reach."""
    seen: set[int] = set()
    for value in [one for held_by in list(scope.values()) for one in (held_by, *_inside(held_by))]:
        groups = attribute(value, "param_groups")
        if isinstance(groups, list) and id(value) not in seen:
            seen.add(id(value))
            steps = attribute(value, "_step_count")
            parameters = [raw for group in groups for raw in group["params"]]
            yield steps if isinstance(steps, int) else 0, [one for raw in parameters if (one := tensor_of(raw)) is not None]


def _inside(value: Any) -> list[Any]:
    """Return what a container, or an object of the script's, holds directly."""
    if type(value) in {list, tuple}:
        return list(value[:100])
    if type(value) is dict:
        return list(value.values())[:100]
    return [part for _, one in held(value) for part in (one, *(one if type(one) in {list, tuple} else ()))]


def _all_parameters(name: str, module: object) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a module, also those of modules that it keeps in plain lists and dictionaries."""
    yield from ((f"{name}.{path}", one) for path, one in parameters_of(module))
    for _, inner in modules_of(module):
        for key, value in list(vars(inner).items()):
            kept = list(value.values()) if type(value) is dict and key[:1] != "_" else value if type(value) in {list, tuple} else []
            for place, one in enumerate(kept):
                if is_module(one):
                    yield from ((f"{name}.{key}[{place}].{path}", parameter) for path, parameter in parameters_of(one))


def _terms(node: Any) -> Iterator[Any]:
    """Yield what a chain of additions on one line adds, the latest first."""
    where = node.location
    while node is not None and node.name() == "AddBackward0" and node.location is not None and where is not None and (
        node.location[1:] == where[1:]
    ):
        following = [edge[0] for edge in node.edges if edge is not None]
        chain = [one for one in following if one.name() == "AddBackward0" and one.location is not None and one.location[1:] == where[1:]]
        yield from (one for one in following if not chain or one is not chain[0])
        node = chain[0] if chain else None


def _freed_by(node: Any) -> Iterator[Any]:
    """Yield the place of the pass that freed what a term saved, where one did."""
    for one in nodes_below(node):
        for entry in one.saved:
            if entry.freed and entry.freed_where is not None:
                yield entry.freed_where
                return
