"""The graph behind tensors as plain data: nodes with names, shapes, saved tensors and lines; edges; what was removed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from gradsh.engine.autograd.topology import needed_nodes
from gradsh.engine.dispatch.compact_node import CompactNode, LiveSaved
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.saved import SavedTensor
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.engine.graph.types import LineOf
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import memory_key, owner_of
from gradsh.probe.drawing import Cut, Drawing, Unit, cuts_of
from gradsh.probe.fold import (
    NodeFold,
    Run,
    ScopesOf,
    by_call,
    by_line,
    by_module,
    choose,
    functions_of,
    in_modules,
    runs_of,
)
from gradsh.probe.frames import CallFrame, calls_of, frames
from gradsh.probe.given import freed_count, live_states
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.names import Names
from gradsh.probe.passes import saved_inside, saved_title
from gradsh.probe.places import LineTable
from gradsh.probe.snapshot import node_name, nodes_below_all, short_name
from gradsh.process.pace import paced
from gradsh.text.fault import fail
from gradsh.text.line import in_order

FOLD_FROM = 40
"""Graphs of more nodes are folded, unless they are to be shown whole."""


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


def graph_report(
    roots: Sequence[Node], variables: Mapping[str, object], line_of: LineOf, scopes_of: ScopesOf, wanted: Wanted
) -> GraphReport:
    """Return the graph reachable from `roots`, depth first along `next_functions`, each node once, without recursion."""
    names = Names(variables)
    nodes = list(nodes_below_all(roots))
    total, kinds = len(nodes), _kinds(nodes)
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
        wanted = wanted._replace(by=_opening(in_modules(runs, paths), functions_of(runs, scopes_of), wanted))
    folds = _folds(runs, scopes_of, line_of, paths, wanted, large=total > FOLD_FROM) if whole and not wanted.expand else []
    drawing = Drawing(shown, folds, by_birth, whole)
    sums, saved = _sums(folds, drawing.alone, line_of)
    order = drawing.walk(roots, wanted.depth, wanted.most)
    place = {id(unit): i for i, unit in enumerate(order)}
    edges = [
        (place[id(unit)], place[id(below)], output) for unit in order
        for below, output in drawing.below(unit) if id(below) in place
    ]
    leaves = frozenset(number for number, unit in enumerate(order) if isinstance(unit, AccumulateGrad))
    around, homes = frames(order, edges, leaves, calls_of(order, scopes_of, paths, wanted.by))
    told = tuple(
        (_folded(unit, sums[id(unit)], names, line_of, drawing) if isinstance(unit, NodeFold) else _told(unit, names, line_of))._replace(
            module=_module(unit, paths), frame=home
        )
        for unit, home in zip(order, homes, strict=True)
    )
    starts = tuple(dict.fromkeys(place[id(unit)] for unit in drawing.starts(roots) if id(unit) in place))
    return GraphReport(told, tuple(edges), starts, total, cuts_of(place, order, drawing), kinds, saved, bool(folds) and not chosen, around)


def _folds(
    runs: list[Run], scopes_of: ScopesOf, line_of: LineOf, paths: ModulePaths, wanted: Wanted, *, large: bool
) -> list[NodeFold]:
    """Return what is drawn as one: what is asked for, or what serves best of a large graph."""
    if wanted.by == "function":
        return by_call(runs, scopes_of, wanted.opened)
    if wanted.by == "line":
        return by_line([node for _, made in runs for node in made], line_of)
    if wanted.by == "module":
        return by_module(in_modules(runs, paths), wanted.opened)
    if not large or wanted.by == "none":
        return []
    return choose(runs, scopes_of, paths, FOLD_FROM)


def _module(unit: Unit, paths: ModulePaths) -> str:
    return unit.module if isinstance(unit, NodeFold) else paths.of(unit.location)


def _opening(called: list[Run], functions: list[str], wanted: Wanted) -> str:
    """Return by what to fold so that `wanted.opened` can be open: a module or, else, a function of that name."""
    modules = list(dict.fromkeys(call.path for calls, _ in called for call in calls))
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


class _Sum:
    """What some nodes are together: the lines that made them, their saved tensors by state, and the places that freed some."""

    __slots__ = ("freed_at", "lines", "states")

    def __init__(self, nodes: Sequence[Node], lines: LineTable, sizes: dict[int, int]) -> None:
        """Go through the nodes once; the bytes of the memories that their live saved tensors stand in are added to `sizes`."""
        self.freed_at: dict[int, object] = {}
        states = self.states = defaultdict[str, list[int]](lambda: [0, 0])
        """state -> how many saved tensors, and their bytes"""
        live = states["live"]
        born: dict[object, Node] = {}
        for node in paced(nodes, "summed up"):
            born[(id(node.code), node.offset) if type(node) is CompactNode and node.code is not None else id(node)] = node
            found = live_states(node)
            for array, modified in found:
                nbytes = bytes_of(array)
                pair = states["modified"] if modified else live if node.extra is None or not node.pins else states["pinned"]
                pair[0] += 1
                pair[1] += nbytes
                if array.base is None:
                    sizes[id(array)] = nbytes
                else:
                    owner = owner_of(array)
                    sizes[id(owner)] = bytes_of(owner)
            if not found and node.freed:
                states["freed"][0] += freed_count(node)
                self.freed_at[id(node.entries)] = getattr(node.entries, "location", None)
        self.lines = set(map(lines.of_node, born.values()))


def _sums(folds: Sequence[NodeFold], alone: Sequence[Node], line_of: LineOf) -> tuple[dict[int, _Sum], tuple[int, int, int]]:
    """Return what each fold sums up to, by its id; and `GraphReport.saved` of the nodes in them and of those `alone`."""
    sizes: dict[int, int] = {}
    lines = LineTable(line_of)
    sums = {id(one): _Sum(one.nodes, lines, sizes) for one in folds}
    found = [one.states for one in (*sums.values(), _Sum(alone, lines, sizes))]
    live = sum(count for states in found for state, (count, _) in states.items() if state != "freed")
    return sums, (live, sum(states["freed"][0] for states in found), sum(sizes.values()))


def _matches(node: Node, names: Names, wanted: Wanted) -> bool:
    if wanted.name:
        titles = [node_name(node) or "", *names.of_node(node)]
        if not any(wanted.name.lower() in title.lower() for title in titles):
            return False
    if not wanted.state:
        return True
    return any(_state(node, saved) == wanted.state for saved in saved_inside(node))


def _state(node: Node, saved: LiveSaved | SavedTensor) -> str:
    if saved.freed:
        return "freed"
    if saved.array is None:
        return "packed"
    return "modified" if saved.current_version != saved.version else "pinned" if node.pins else "live"


def _told(unit: Node, names: Names, line_of: LineOf) -> GraphNode:
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


def _folded(unit: NodeFold, total: _Sum, names: Names, line_of: LineOf, drawing: Drawing) -> GraphNode:
    named = sorted((node for node in names.nodes if drawing.unit.get(node) is unit), key=attrgetter("seq"))
    bound = tuple([name for node in named for name in names.of_node(node)])
    lines = sorted({line for line in total.lines if line is not None}, key=in_order)
    freed_lines = set(map(line_of, {id(where): where for where in total.freed_at.values()}.values()))
    freed_line = freed_lines.pop() if len(freed_lines) == 1 else None
    marks = tuple(
        SavedMark("", (), nbytes, state, (), freed_line if state == "freed" else None, count)
        for state, (count, nbytes) in total.states.items() if count
    )
    leaves = tuple((names.of_node(leaf) or ("a leaf",))[0] for leaf in drawing.leaves.get(id(unit), ()))
    return GraphNode(
        unit.label, bound, None, marks, lines[0] if lines else None, False, len(unit.nodes), unit.times,
        lines[-1] if lines else None, leaves,
    )
