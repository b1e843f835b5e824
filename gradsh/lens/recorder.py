"""What `--report` tells of a program on PyTorch: its passes and their nodes, its variables, bytes and failures.

PyTorch's graph is looked at before and after each pass, after each statement that is run by itself, and at the end. In between
nothing is known of it, so a node is born at the moment that first meets it, and gone at the first one that meets it no more.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gradsh.contracts.events import Emit, Failure
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad
from gradsh.probe.accounts import account_of, saved_memories
from gradsh.probe.names import named_tensors, of_program, roots_among
from gradsh.render.json import plain
from gradsh.report.graphs import node_record, note_state
from gradsh.report.places import Places
from gradsh.report.recorder import MOST_NAMES, MOST_NODES, SessionRecorder, failure_record, variable_record
from gradsh.runtime.activation import describe, scopes
from gradsh.text.span import Source

if TYPE_CHECKING:
    from gradsh.lens.mirror import World
    from gradsh.lens.watcher import Watcher


class TraceRecorder:
    """Follows a watcher's passes; `variables` are those of the program's module."""

    def __init__(self, watcher: "Watcher", variables: Mapping[str, object]) -> None:
        self.watcher, self.program = watcher, variables
        self.places = Places(watcher.line_of, lambda where: describe(watcher.sources, where), scopes)  # type: ignore[arg-type]
        self.steps: list[dict[str, object]] = []
        self.bytes: list[tuple[int, ...]] = []
        self.nodes: list[dict[str, Any]] = []
        self.where: list[Any] = []
        """The places of the nodes."""
        self.numbers: dict[Any, int] = {}
        """what a node that is there is known by -> its place among the nodes"""
        self.storages: list[int] = []
        self.storage_numbers: dict[tuple[int, int], int] = {}
        self.variables: dict[str, list[tuple[int, Any]]] = {}
        self.failures: list[dict[str, object]] = []
        self.wrong = ""
        self._roots: list[Any] = []
        self._named: set[int] = set()
        watcher.passes.before, watcher.passes.after = self._guarded(self._begin), self._guarded(self._over)

    def _guarded(self, action: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            try:
                if not self.wrong:
                    action(*args)
            except Exception as error:  # noqa: BLE001  # the report ends, and the program goes on
                self.wrong = f"the recording ended at step {len(self.steps)}: {type(error).__name__}: {error}"

        return run

    # ------------------------------------------------------------------ moments

    def _begin(self, roots: list[object]) -> None:
        place = self.watcher.lines.log().here()
        with self.watcher.look() as world:
            step: dict[str, Any] = {"kind": "pass", "line": self.watcher.line_of(place), "keeps": False}
            self._moment(world, roots, step)
            step["roots"] = [self.numbers[_key(world.node(root))] for root in roots]
        self._roots = roots

    def _over(self, retain: bool, failed: bool) -> None:
        roots, self._roots = self._roots, []
        self.steps[-1]["keeps"] = retain
        nbytes = list(self.bytes[-1])
        with self.watcher.look() as world:
            left = Counter(saved["storage"] for number in self.numbers.values() for saved in self._live(number))
            for node in _in_order([world.node(root) for root in roots]):
                record = self.nodes[self.numbers[_key(node)]]
                live = [*self._live(self.numbers[_key(node)])]
                note_state(record, node, len(self.steps), self.places)
                if failed and record.get("freed") != len(self.steps):
                    continue  # which of the others it had run is not known
                for saved in live if "freed" in record else ():
                    left[saved["storage"]] -= 1
                    if not left[saved["storage"]] and saved["storage"] not in self._named:
                        nbytes[3] -= self.storages[saved["storage"]]
                self.steps.append({"kind": "node", "node": self.numbers[_key(node)]})
                self.bytes.append(tuple(nbytes))

    def _live(self, number: int) -> Iterator[dict[str, Any]]:
        record = self.nodes[number]
        return (saved for saved in record.get("saved", ()) if "freed" not in record and saved["storage"] is not None)

    def _moment(self, world: "World", roots: list[object], step: dict[str, object]) -> None:
        named = of_program(named_tensors(self.program))
        nodes = [*(node for _, node in roots_among(named)), *(world.node(root) for root in roots)]
        self._meet(world)
        self._named = {self._storage(tensor.array) for _, tensor in named}
        for path in [*dict(named[:MOST_NAMES]), *(path for path in self.variables if path not in dict(named))]:
            tensor = dict(named).get(path)
            record = None if tensor is None else variable_record(tensor, self._storage, lambda node: self.numbers.get(_key(node)))
            changes = self.variables.setdefault(path, [])
            if (changes[-1][1] if changes else None) != record:
                changes.append((len(self.steps), record))
        saved, count = saved_memories(nodes)
        account = account_of((tensor for _, tensor in named), saved, sum(saved.values()), count)
        self.steps.append(step)
        self.bytes.append((account.leaves, account.gradients, account.variables, account.graph))
        if len(self.nodes) > MOST_NODES:
            self.wrong = f"more than {MOST_NODES:,} nodes: the graph is recorded up to step {len(self.steps)}"

    def _meet(self, world: "World") -> None:
        """Record the nodes that are new, the states of the others, and which are gone."""
        now, there = len(self.steps), {_key(node): node for node in world.nodes.values()}
        for key in [key for key in self.numbers if key not in there]:
            self.nodes[self.numbers.pop(key)]["died"] = now
        new = [key for key in there if key not in self.numbers]
        for key in new:
            self.numbers[key] = len(self.nodes)
            self.nodes.append(node_record(there[key], now, self.places, self._storage))
            self.where.append(there[key].location)
        for key in new:
            edges = [(self.numbers[_key(edge[0])], edge[1]) for edge in there[key].edges if edge is not None]
            self.nodes[self.numbers[key]]["edges"] = edges
        for key, node in there.items():
            note_state(self.nodes[self.numbers[key]], node, now, self.places)

    def _storage(self, array: Any) -> int:
        key = (array.base.key, array.base.nbytes)
        if key not in self.storage_numbers:
            self.storage_numbers[key] = len(self.storages)
            self.storages.append(array.base.nbytes)
        return self.storage_numbers[key]

    def fail(self, event: Failure) -> None:
        """Take note of a failure: of the statement that the next step ends."""
        self._guarded(lambda: self.failures.append(failure_record(event, len(self.steps), self.places)))()
        self.end(event.top or event.line, ok=False)

    def end(self, line: int, *, ok: bool) -> None:
        """Take note that the program, or a statement that failed, is over."""
        self.statement({"kind": "statement", "line": line, "end_line": line, "ok": ok})

    def ended(self, line: int, *, ok: bool) -> None:
        """Take note that a statement is over, unless its failure was told."""
        last = self.steps[-1] if self.steps else {}
        if ok or last.get("kind") != "statement" or last["line"] != line or last["ok"]:
            self.end(line, ok=ok)

    def statement(self, step: dict[str, Any]) -> None:
        """Add a step, with what is there now."""

        def ended() -> None:
            with self.watcher.look() as world:
                self._moment(world, [], step)

        self._guarded(ended)()

    def data(self, name: str, source: Any) -> dict[str, Any]:
        """Return what was recorded, as JSON has it."""
        self.places.source(source)
        if not any(step["kind"] == "statement" for step in self.steps):
            self.end(len(source.lines), ok=True)
        with self.watcher.look() as world:
            modules = world.module_paths(self.program)
        for record, where in zip(self.nodes, self.where, strict=True):
            if module := modules.of(where):
                record["module"] = module
        totals = list(map(sum, self.bytes))
        found = {
            "name": name, "sources": self.places.sources(), "scopes": self.places.scopes, "steps": self.steps, "nodes": self.nodes,
            "variables": self.variables, "storages": self.storages, "bytes": self.bytes,
            "peak": totals.index(max(totals)) if totals else None, "failures": self.failures,
        }
        return dict(plain({**found, "note": self.wrong} if self.wrong else found))


class TorchRecorder(SessionRecorder):
    """Follows a script in a session on PyTorch: statements by the session's events, passes by the watcher."""

    def __init__(self, session: Any, source: Source, emit: Emit) -> None:
        super().__init__(session, source, emit)
        self.source = source
        self.trace = TraceRecorder(session.watcher, session.machine.variables())
        self.places, self.failures, self.steps = self.trace.places, self.trace.failures, self.trace.steps
        self.places.source(source)

    def __enter__(self) -> "TorchRecorder":
        """Record each pass after what the session itself notes of it."""
        passes = self.session.watcher.passes
        begin = passes.before

        def before(roots: list[Any]) -> None:
            self.session.note_pass(roots)
            self.trace.program = self.session.reachable()
            begin(roots)

        passes.before = before
        return self

    def __exit__(self, *_: object) -> None:
        passes = self.session.watcher.passes
        passes.before, passes.after = self.session.note_pass, None

    def _moment(self, variables: Mapping[str, object], roots: object, step: dict[str, object], *, again: bool) -> Any:
        del roots, again
        self.trace.program = variables
        self.trace.statement(step)

    def data(self) -> dict[str, Any]:
        """Return what was recorded, as JSON has it."""
        self.trace.wrong = self.wrong or self.trace.wrong
        return self.trace.data(self.source.name, self.source)


def _key(node: Node) -> object:
    """Return what a node is known by from one look to the next."""
    if isinstance(node, AccumulateGrad):
        leaf: Any = node.variable
        return "leaf", id(leaf.torch)
    return node.seq, node.name()


def _in_order(roots: list[Node]) -> list[Node]:
    """Return the nodes below the roots as a pass runs them: the latest first, a leaf after the last node that leads to it."""
    nodes: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in nodes:
            nodes[id(node)] = node
            stack += node.below()
    waiting = Counter(id(below) for node in nodes.values() for below in node.below())
    found: list[Node] = []
    for node in sorted((one for one in nodes.values() if not isinstance(one, AccumulateGrad)), key=lambda one: -one.seq):
        found.append(node)
        for leaf in [below for below in node.below() if isinstance(below, AccumulateGrad)]:
            waiting[id(leaf)] -= 1
            found += [leaf] if not waiting[id(leaf)] else []
    return found
