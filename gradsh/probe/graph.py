"""The graph behind tensors as plain data: nodes with names, shapes, saved tensors and lines; edges; what was removed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from gradsh.engine.autograd.topology import needed_nodes
from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.storage import memory_key, owner_of
from gradsh.probe.fold import NodeFold, Run, ScopesOf, by_call, by_line, by_module, fold, functions_of, runs_of
from gradsh.probe.frames import CallFrame, calls_of, frames
from gradsh.probe.given import arrays_kept, freed_count, live_states
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.names import Names
from gradsh.probe.passes import saved_inside, saved_title
from gradsh.probe.places import Lines
from gradsh.probe.snapshot import node_name, nodes_below_all, short_name
from gradsh.process.pace import paced
from gradsh.text.fault import fail
from gradsh.text.line import in_order

FOLD_FROM = 40
"""Graphs of more nodes are folded, unless they are to be shown whole."""
_FAN = 60
"""Most edges that are followed through hidden nodes from one that is shown."""
_STUBS = 4
"""Most edges of one node to what is not drawn that are told one by one."""
_REDUCED = 3000
"""Most nodes of a part for which it is found out what leads to what."""


class SavedMark(NamedTuple):
    """A saved tensor at a node: name, bytes, state (live, freed, pinned, modified), who else holds it, who freed it.

    For folded nodes it stands for `count` tensors of one state, and `nbytes` is their sum.
    """

    name: str
    shape: tuple[int, ...]
    nbytes: int
    state: str
    held_by: tuple[str, ...]
    freed_line: int | None
    count: int = 1  # type: ignore[assignment]  # a name of the JSON, over a method of tuples
    recomputed: bool = False
    """Whether a checkpoint computes it again when backward needs it."""


class GraphNode(NamedTuple):
    """A node: its operation, the variables bound to its results, the shape of its output, what it saved, its line.

    What stands for several nodes has their number in `members`, how often the function or loop ran in `times`, the
    leaves that only it reaches in `leaves`, and reaches from `line` to `last_line`. `module` is the path of the innermost
    module that made it (`net.layers[0].self_attn`); empty outside of modules. `frame` is the number of the innermost frame.
    """

    name: str
    variables: tuple[str, ...]
    shape: tuple[int, ...] | None
    saved: tuple[SavedMark, ...]
    line: int | None
    leaf: bool
    members: int = 1
    times: int = 1
    last_line: int | None = None
    leaves: tuple[str, ...] = ()
    module: str = ""
    frame: int | None = None


class Cut(NamedTuple):
    """An edge to what is not drawn: the node it comes from, its place among that node's edges, how many nodes it leads to.

    Where a node has more than a few such edges, one stands for all.
    Nodes to which several cut edges lead count for each of them; those that are drawn elsewhere do not.
    """

    source: int
    place: int
    nodes: int


class GraphReport(NamedTuple):
    """Nodes in the order they are drawn; `edges` are (from, to, output number of `to`), `roots` where it starts.

    `cuts` are the edges to what was removed; `kinds` how many nodes there are of each operation;
    `saved` the live saved tensors, the freed ones, and the bytes of the memories that the live ones stand in; `frames` the
    open calls of modules, functions and loops.
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[int, int, int], ...]
    roots: tuple[int, ...]
    total: int
    cuts: tuple[Cut, ...] = ()
    kinds: tuple[tuple[str, int], ...] = ()
    saved: tuple[int, int, int] = (0, 0, 0)
    folded: bool = False
    frames: tuple[CallFrame, ...] = ()


class Wanted(NamedTuple):
    """What part of a graph to show: how deep, at most how many nodes (the nearest), unfolded or not, towards what, which
    states and names.

    `by` draws what each module, function or line made as one; `opened` is the path of a module that is not.
    """

    depth: int | None = None
    most: int | None = None
    expand: bool = False
    to: tuple[Node, ...] = ()
    state: str = ""
    name: str = ""
    by: str = ""
    opened: str = ""


Unit = Node | NodeFold


def graph_report(
    roots: Sequence[Node], variables: Mapping[str, object], line_of: LineOf, scopes_of: ScopesOf, wanted: Wanted
) -> GraphReport:
    """Return the graph reachable from `roots`, depth first along `next_functions`, each node once, without recursion."""
    names = Names(variables)
    nodes = list(nodes_below_all(roots))
    total, kinds, saved = len(nodes), _kinds(nodes), _saved(nodes)
    by_birth = sorted(nodes, key=attrgetter("seq"))
    shown: Collection[Node] = nodes
    if wanted.to:
        shown = needed_nodes(by_birth[::-1], wanted.to)
    if wanted.state or wanted.name:
        shown = {node for node in shown if _matches(node, names, wanted)}
    whole = len(shown) == total
    runs = runs_of([node for node in by_birth if type(node) is not AccumulateGrad])
    paths = ModulePaths(variables)
    chosen = bool(wanted.by)
    if wanted.opened:
        wanted = wanted._replace(by=_opening(runs, scopes_of, paths, wanted))
    folds = _folds(runs, scopes_of, line_of, paths, wanted, large=total > FOLD_FROM) if whole and not wanted.expand else []
    drawing = _Drawing(shown, folds, by_birth, whole)
    order = drawing.walk(roots, wanted.depth, wanted.most)
    place = {id(unit): i for i, unit in enumerate(order)}
    edges = [
        (place[id(unit)], place[id(below)], output) for unit in order
        for below, output in drawing.below(unit) if id(below) in place
    ]
    leaves = frozenset(number for number, unit in enumerate(order) if isinstance(unit, AccumulateGrad))
    around, homes = frames(order, edges, leaves, calls_of((where for where, _ in runs), scopes_of, paths, wanted.by))
    told = tuple(
        _told(unit, names, line_of, drawing)._replace(module=_module(unit, paths), frame=home)
        for unit, home in zip(order, homes, strict=True)
    )
    starts = tuple(dict.fromkeys(place[id(unit)] for unit in drawing.starts(roots) if id(unit) in place))
    return GraphReport(told, tuple(edges), starts, total, _cuts(place, order, drawing), kinds, saved, bool(folds) and not chosen, around)


def _folds(
    runs: list[Run], scopes_of: ScopesOf, line_of: LineOf, paths: ModulePaths, wanted: Wanted, *, large: bool
) -> list[NodeFold]:
    """Return what is drawn as one: what is asked for; of a large graph its modules or, where this says more, what repeats."""
    if wanted.by == "function":
        return by_call(runs, scopes_of, wanted.opened)
    if wanted.by == "line":
        return by_line([node for _, made in runs for node in made], line_of)
    if wanted.by == "module":
        return by_module(runs, paths, wanted.opened)
    if not large or wanted.by == "none":
        return []
    modules, repeated = by_module(runs, paths), fold(runs, scopes_of, FOLD_FROM)
    rows = [sum(1 - len(one.nodes) for one in folds) for folds in (modules, repeated)]
    fits = sum(len(made) for _, made in runs) + rows[0] <= FOLD_FROM
    return modules if modules and (fits or rows[0] <= rows[1]) else repeated


def _module(unit: Unit, paths: ModulePaths) -> str:
    return unit.module if isinstance(unit, NodeFold) else paths.of(unit.location)


def _opening(runs: list[Run], scopes_of: ScopesOf, paths: ModulePaths, wanted: Wanted) -> str:
    """Return by what to fold so that `wanted.opened` can be open: a module or, else, a function of that name."""
    modules = list(dict.fromkeys(call.path for where, _ in runs for call in paths.calls(where)))
    functions = functions_of(runs, scopes_of)
    if wanted.opened in modules and wanted.by != "function":
        return "module"
    if wanted.opened in functions and wanted.by in {"", "function"}:
        return "function"
    known = [f" ({title}: {', '.join(names[:8])}{', …' if len(names) > 8 else ''})"
             for title, names in (("modules", modules), ("functions", functions)) if names]
    listed = known[0] if known else "; it calls no module"
    raise fail("value", f"--open: no node of the graph was made in {wanted.opened}{listed}", ValueError)


def _kinds(nodes: Iterable[Node]) -> tuple[tuple[str, int], ...]:
    records = Counter(node.record if type(node) is CompactNode else node_name(node) or "" for node in nodes)
    kinds: Counter[str] = Counter()
    for one, number in records.items():
        kinds[one if isinstance(one, str) else short_name(one.node)] += number
    return tuple(kinds.most_common())


def _saved(nodes: Sequence[Node]) -> tuple[int, int, int]:
    live = freed = 0
    sizes: dict[int, int] = {}
    for node in paced(nodes, "counted"):
        arrays = arrays_kept(node)
        live += len(arrays)
        for array in arrays:
            owner = array if array.base is None else owner_of(array)
            sizes[id(owner)] = owner.nbytes
        if not arrays and node.freed:
            freed += freed_count(node)
    return live, freed, sum(sizes.values())


def _matches(node: Node, names: Names, wanted: Wanted) -> bool:
    if wanted.name:
        titles = [node_name(node) or "", *names.of_node(node)]
        if not any(wanted.name.lower() in title.lower() for title in titles):
            return False
    if not wanted.state:
        return True
    return any(_state(node, saved) == wanted.state for saved in saved_inside(node))


def _state(node: Node, saved: Any) -> str:
    if saved.freed:
        return "freed"
    if saved.array is None:
        return "packed"
    return "modified" if saved.current_version != saved.version else "pinned" if node.pins else "live"


class _Drawing:
    """Which nodes and folds are drawn, and the edges between them, also through what is not drawn."""

    def __init__(self, shown: Collection[Node], folds: list[NodeFold], by_birth: Sequence[Node], whole: bool) -> None:
        self.unit: dict[Node, Unit] = {}
        self.through: dict[Node, list[tuple[Unit, int]]] = {}
        self.known: dict[int, list[tuple[Unit, int]]] = {}
        for one in folds:
            self.unit.update(dict.fromkeys(one.nodes, one))
        self.ends = {id(one): _ends(one, self.unit) for one in folds}
        """fold -> the nodes outside of it to which edges lead from it"""
        self.owned = _owned(folds, by_birth, self.unit, self.ends) if folds else {}
        self.leaves: dict[int, list[Node]] = {}
        """fold -> the leaves that only it reaches"""
        for leaf, one in self.owned.items():
            self.leaves.setdefault(id(one), []).append(leaf)
        for node in by_birth:
            if (whole or node in shown) and node not in self.owned:
                self.unit.setdefault(node, node)
        self.leads: dict[int, tuple[int, int]] = {}
        """drawn node -> its number, and as bits the numbers of all to which it leads"""
        if not whole:
            reduce = len(self.unit) <= _REDUCED
            for node in sorted(by_birth, key=lambda node: type(node) is not AccumulateGrad):
                if node not in self.unit:
                    self.through[node] = self._follow(node)
                elif reduce:
                    self._lead(node)

    def _lead(self, node: Node) -> None:
        bits = 1 << len(self.leads)
        number = len(self.leads)
        for below, _ in self._follow(node):
            bits |= self.leads[id(below)][1]
        self.leads[id(node)] = number, bits

    def _follow(self, node: Node) -> list[tuple[Unit, int]]:
        """Return what is drawn right below a node; through hidden ones only what no other of them leads to."""
        found = self._followed(node)
        if len(found) < 2 or not self.leads:
            return found
        direct = set(map(id, node.below()))
        kept, covered = [], 0
        for one in sorted(found, key=lambda one: -self.leads[id(one[0])][0]):
            number, bits = self.leads[id(one[0])]
            if id(one[0]) in direct or not covered >> number & 1:
                kept.append(one)
            covered |= bits
        left = {id(one) for one in kept}
        return [one for one in found if id(one) in left]

    def _followed(self, node: Node) -> list[tuple[Unit, int]]:
        found: dict[tuple[int, int], tuple[Unit, int]] = {}
        for edge in node.edges:
            if edge is None or edge[0] in self.owned:
                continue
            unit = self.unit.get(edge[0])
            for below, output in [(unit, edge[1])] if unit is not None else self.through.get(edge[0], []):
                found.setdefault((id(below), output), (below, output))
            if len(found) > _FAN:
                break
        return list(found.values())

    def below(self, unit: Unit) -> list[tuple[Unit, int]]:
        """Return the drawn things right below a drawn one: (thing, output number)."""
        found = self.known.get(id(unit))
        if found is None:
            if isinstance(unit, NodeFold):
                found = self._below_fold(unit)
            else:
                edges = [edge for edge in unit.edges if edge is not None and edge[0] not in self.owned]
                if all(edge[0] in self.unit for edge in edges):
                    found = [(self.unit[edge[0]], edge[1] if self.unit[edge[0]] is edge[0] else 0) for edge in edges]
                else:
                    found = self._follow(unit)
            self.known[id(unit)] = found
        return found

    def _below_fold(self, unit: NodeFold) -> list[tuple[Unit, int]]:
        found = (self.unit.get(end) for end in self.ends[id(unit)])
        return list({id(below): (below, 0) for below in found if below is not None}.values())

    def starts(self, roots: Sequence[Node]) -> list[Unit]:
        """Return the drawn things where the drawing begins."""
        out: list[Unit] = []
        for root in roots:
            unit = self.unit.get(root)
            out += [unit] if unit is not None else [below for below, _ in self.through.get(root, [])]
        return out

    def walk(self, roots: Sequence[Node], depth: int | None, most: int | None) -> list[Unit]:
        """Return what is drawn, depth first: all, or the nearest to the roots, down to `depth` steps and at most so many."""
        near: dict[int, None] | None = None if depth is None and most is None else self._nearest(roots, depth, most)
        order: list[Unit] = []
        seen: set[int] = set()
        stack = self.starts(roots)[::-1]
        while stack:
            unit = stack.pop()
            if id(unit) not in seen and (near is None or id(unit) in near):
                seen.add(id(unit))
                order.append(unit)
                stack += [one for one, _ in reversed(self.below(unit))]
        return order

    def _nearest(self, roots: Sequence[Node], depth: int | None, most: int | None) -> dict[int, None]:
        """Return the things that are reached first, breadth first."""
        level, steps = self.starts(roots), 0
        found: dict[int, None] = {}
        while level and (depth is None or steps <= depth):
            below: list[Unit] = []
            for unit in level:
                if id(unit) not in found:
                    if most is not None and len(found) >= most:
                        return found
                    found[id(unit)] = None
                    below += [one for one, _ in self.below(unit)]
            level, steps = below, steps + 1
        return found


def _ends(fold: NodeFold, unit: Mapping[Node, Unit]) -> list[Node]:
    """Return the nodes outside of a fold to which edges lead from it, those of its latest node first."""
    found: dict[Node, None] = {}
    for node in reversed(fold.nodes):
        for end in node.below():
            if unit.get(end) is not fold:
                found[end] = None
    return list(found)


def _owned(
    folds: list[NodeFold], by_birth: Sequence[Node], unit: Mapping[Node, Unit], ends: Mapping[int, list[Node]],
) -> dict[Node, NodeFold]:
    """Return the leaves that only one fold reaches: they are told with it."""
    reached: Counter[Node] = Counter(end for one in folds for end in ends[id(one)] if type(end) is AccumulateGrad)
    elsewhere = {end for node in by_birth if node not in unit for end in node.below()}
    found: dict[Node, NodeFold] = {}
    for one in folds:
        own = {end for end in ends[id(one)] if reached[end] == 1 and end not in elsewhere}
        for node in one.nodes:  # they are told in the order in which its nodes reach them
            if not own:
                break
            found.update((end, one) for end in node.below() if end in own)
            own.difference_update(node.below())
    return found


def _cuts(place: Mapping[int, int], order: list[Unit], drawing: _Drawing) -> tuple[Cut, ...]:
    """Return the edges from what is drawn to what is not, with how many nodes each leads to that are not drawn."""
    found: list[tuple[int, int, list[Unit]]] = []
    for unit in order:
        cut = [(i, below) for i, (below, _) in enumerate(drawing.below(unit)) if id(below) not in place]
        if len(cut) > _STUBS:
            found.append((place[id(unit)], cut[0][0], [below for _, below in cut]))
        else:
            found += [(place[id(unit)], i, [below]) for i, below in cut]
    counts = _left_out([targets for _, _, targets in found], place, drawing) if found else []
    return tuple(Cut(source, i, number) for (source, i, _), number in zip(found, counts, strict=True))


def _left_out(targets: list[list[Unit]], place: Mapping[int, int], drawing: _Drawing) -> list[int]:
    """Return for each list of targets how many nodes they lead to, themselves included, that are not drawn.

    Which targets lead to a thing is carried from above to below as bits of a number, so each thing is visited once.
    """
    masks: dict[int, int] = {}
    for i, several in enumerate(targets):
        for one in several:
            masks[id(one)] = masks.get(id(one), 0) | 1 << i
    units = {id(one): one for several in targets for one in several}
    stack = list(units.values())
    while stack:
        for below, _ in drawing.below(stack.pop()):
            if id(below) not in place and id(below) not in units:
                units[id(below)] = below
                stack.append(below)
    nodes: Counter[int] = Counter()
    for unit in sorted(units.values(), key=_birth, reverse=True):
        mask = masks.pop(id(unit))
        nodes[mask] += len(unit.nodes) + len(drawing.leaves.get(id(unit), ())) if isinstance(unit, NodeFold) else 1
        for below, _ in drawing.below(unit):
            if id(below) in units:
                masks[id(below)] = masks.get(id(below), 0) | mask
    totals = [0] * len(targets)
    for mask, number in nodes.items():
        while mask:
            totals[(mask & -mask).bit_length() - 1] += number
            mask &= mask - 1
    return totals


def _birth(unit: Unit) -> int:
    """Order what edges lead from before what they lead to, from the last."""
    if isinstance(unit, NodeFold):
        return unit.nodes[-1].seq
    return -1 if type(unit) is AccumulateGrad else unit.seq


def _told(unit: Unit, names: Names, line_of: LineOf, drawing: _Drawing) -> GraphNode:
    if isinstance(unit, NodeFold):
        return _folded(unit, names, line_of, drawing)
    marks = []
    for saved in saved_inside(unit):
        state = _state(unit, saved)
        title = saved_title(saved)
        if state == "freed":
            marks.append(SavedMark(title, saved.shape, saved.nbytes, state, (), line_of(saved.freed_where)))
            continue
        held = () if saved.array is None else names.of_memory(memory_key(saved.array))
        marks.append(SavedMark(title, saved.shape, saved.nbytes, state, held, None, recomputed=saved.recomputed))
    shape = tuple(unit.outputs[0][0]) if unit.outputs else ()
    leaf = isinstance(unit, AccumulateGrad)
    line = None if leaf else line_of(unit.location)
    return GraphNode(node_name(unit) or "", names.of_node(unit), shape, tuple(marks), line, leaf)


def _folded(unit: NodeFold, names: Names, line_of: LineOf, drawing: _Drawing) -> GraphNode:
    named = sorted((node for node in names.nodes if drawing.unit.get(node) is unit), key=attrgetter("seq"))
    bound = tuple([name for node in named for name in names.of_node(node)])
    lines_of = Lines(line_of)
    found_on: set[int | None] = set()
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    freed_at: dict[int, Any] = {}
    for node in paced(unit.nodes, "summed up"):
        found_on.add(lines_of.of_node(node))
        found = live_states(node)
        for array, modified in found:
            pair = totals["modified" if modified else "pinned" if node.extra is not None and node.pins else "live"]
            pair[0] += 1
            pair[1] += array.nbytes
        if not found and node.freed:
            totals["freed"][0] += freed_count(node)
            freed_at[id(node.entries)] = getattr(node.entries, "location", None)
    lines = sorted({line for line in found_on if line is not None}, key=in_order)
    freed_lines = set(map(line_of, {id(where): where for where in freed_at.values()}.values()))
    marks = tuple(
        SavedMark("", (), nbytes, state, (), freed_lines.copy().pop() if state == "freed" and len(freed_lines) == 1 else None, count)
        for state, (count, nbytes) in totals.items() if count
    )
    leaves = tuple((names.of_node(leaf) or ("a leaf",))[0] for leaf in drawing.leaves.get(id(unit), ()))
    return GraphNode(
        unit.label, bound, None, marks, lines[0] if lines else None, False, len(unit.nodes), unit.times,
        lines[-1] if lines else None, leaves,
    )
