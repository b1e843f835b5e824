"""Follows a session while it runs, and makes of it a report: steps, nodes, variables, bytes, failures.

A step is a statement that is over, a backward pass that begins, or one node of it. Nothing is noted while nodes run: what a
pass did to each is read off them when it is over, so the pass goes its fast way.
"""

from collections.abc import Callable, Iterable, Mapping
from types import NoneType, TracebackType
from typing import Any
from weakref import ref

from gradsh.contracts.events import Done, Emit, Event, Failure, Result, Snapshot
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, node_of
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import memory_key, owner_of
from gradsh.probe.accounts import Account, account_of
from gradsh.probe.budget import ModuleCalls
from gradsh.probe.names import named_tensors, of_program, roots_among
from gradsh.probe.walk import gradient_of
from gradsh.render.json import plain, to_dict
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.report.graphs import Graphs
from gradsh.report.places import Places, Storages
from gradsh.text.fix import difference
from gradsh.text.span import Source

MOST_NODES, MOST_STEPS = 20_000, 60_000
"""Beyond these, no further node or pass is recorded; statements and failures are."""
MOST_NAMES = 500
MOST_OUTPUT = 200_000
LONGEST = 10_000
"""Characters of what one event shows."""
VALUES = 4096
"""Elements of the largest tensor whose values are summed up."""
CREDIT, EARNED = 1_000_000, 4_000
"""What may be looked at again (saved tensors, variables), and how much more at each step; so no report depends on the clock."""
SCALARS = (int, float, bool, str, NoneType)


class SessionRecorder:
    """Takes a session's events, hands them on to `emit`, and records what the session does within a `with` block."""

    def __init__(self, session: Any, source: Source, emit: Emit) -> None:
        self.session, self.emit = session, emit
        self.places, self.storages = Places(session.line_of, session.state.place_of, session.scopes_of), Storages()
        self.places.source(source)
        self.graphs = Graphs(self.places, self.storages)
        self.steps: list[dict[str, Any]] = []
        self.bytes: list[tuple[int, ...]] = []
        self.failures: list[dict[str, Any]] = []
        self.variables: dict[str, list[tuple[int, Any]]] = {}
        self.wrong = ""
        """Why no more is recorded, if so"""
        self._passes: list[_Pass] = []
        self._output: list[tuple[str, str]] = []
        self._shown = 0
        self._credit = CREDIT
        self._modules = ModuleCalls(session, checkpointed=False)
        self._following = self._modules.followed()

    def __enter__(self) -> "SessionRecorder":
        self.session.observer = self._observe
        self._following.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._following.__exit__(kind, error, trace)
        self.session.observer = None

    # ------------------------------------------------------------------ what the session tells

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if type(event) is Done:
            self._safely(lambda: self._statement(event))
        elif type(event) is Failure:
            self._safely(lambda: self._failure(event))
        self.emit(event)
        if type(event) not in {Done, Snapshot} and self._shown < MOST_OUTPUT:
            self._safely(lambda: self._show(event))

    def _safely(self, action: Callable[[], object]) -> None:
        """Record; what goes wrong (at an object of the script's own, say) ends the recording and not the session."""
        machine = self.session.machine
        telling, machine.telling = machine.telling, True
        try:
            action()
        except Exception as error:  # noqa: BLE001
            self.wrong = f"the recording ended at step {len(self.steps)}: {type(error).__name__}: {error}"
        finally:
            machine.telling = telling

    def _show(self, event: Event) -> None:
        if type(event) is Result and (event.output or event.format):
            return
        shown = event_text(event, Style())
        if shown is not None and type(event) is not Failure:
            text = shown[1] if len(shown[1]) <= LONGEST else f"{shown[1][:LONGEST]}… ({len(shown[1]):,} characters)\n"
            self._output.append((shown[0], text))
            self._shown += len(text)

    def _failure(self, event: Failure) -> None:
        self.failures.append(failure_record(event, len(self.steps), self.places))

    def _statement(self, event: Done) -> None:
        output, self._output = self._output, []
        step = {"kind": "statement", "line": event.line, "end_line": event.end_line, "ok": event.ok}
        if output:
            step["output"] = output
        self._moment(self.session.machine.variables(), (), step, again=True)

    def _observe(self, task: object, over: bool) -> None:
        """Take note that a backward pass begins, or is over."""
        if not self.wrong:
            self._safely(lambda: self._over(task) if over else self._begin(task))

    # ------------------------------------------------------------------ passes

    def _begin(self, task: Any) -> None:
        if self._passes:
            self._ran(self._passes[-1])
        place = self.places.of(task.location)
        roots = [edge[0] for edge, _ in task.roots]
        step = {"kind": "pass", **({"line": place["line"]} if place else {}), "keeps": bool(task.retain)}
        named, account = self._moment(self.session.reachable(), roots, step, again=self._credit > 0)
        step["roots"] = [self.graphs.number[ref(root)] for root in roots if ref(root) in self.graphs.number]
        self._passes.append(_Pass(task, named, account))

    def _over(self, task: Any) -> None:
        mine = self._passes.pop()
        if mine.task is not task:
            raise RuntimeError("a pass ended before the one within it")
        steps = self._ran(mine, over=True)
        self.graphs.again(task.order)
        for path, tensor in named_tensors(self.session.reachable()) if task.wrote else ():
            if id(tensor) in steps and path in self.variables:
                self._tell(path, self._variable(tensor), steps[id(tensor)])

    def _ran(self, mine: "_Pass", *, over: bool = False) -> dict[int, int]:
        """Add a step for each node that a pass ran since the last look; return at which step leaves (their ids) were written."""
        task, found = mine.task, dict[int, int]()
        failing = task.order[task.position] if task.position < len(task.order) else None
        wrote = {id(leaf) for leaf in task.wrote}
        while mine.done < len(mine.order):
            node = mine.order[mine.done]
            if node is failing and not over:
                break
            step = {"kind": "node", "node": self.graphs.number.get(ref(node))}
            self._deliver(mine, node, wrote, found)
            self._add({**step, "failed": True} if node is failing else step, mine.bytes)
            mine.done += 1
            if node is failing:
                break
        return found

    def _deliver(self, mine: "_Pass", node: Node, wrote: set[int], found: dict[int, int]) -> None:
        """Count what became free when a node had run, and the gradient that a leaf received."""
        if type(node) is AccumulateGrad:
            leaf = node.variable
            if id(leaf) in wrote:
                found[id(leaf)] = self.graphs.step
                mine.bytes[1] += bytes_of(leaf.array) if mine.is_new(leaf) else 0
        elif node.freed:
            for storage in self.graphs.storages_of(node):
                mine.left[storage] = mine.left.get(storage, self.graphs.users(storage)) - 1
                if not mine.left[storage] and storage not in mine.named:
                    mine.bytes[3] -= self.graphs.sizes.get(storage, 0)
            self.graphs.note(node)

    # ------------------------------------------------------------------ moments

    def _moment(
        self, variables: Mapping[str, object], roots: Any, step: dict[str, object], *, again: bool
    ) -> tuple[list[tuple[str, Tensor]], Account]:
        """Add a step, with what is there now."""
        now = len(self.steps)
        named = of_program(named_tensors(variables))
        full = len(self.graphs.records) > MOST_NODES or now > MOST_STEPS
        self.wrong = self.wrong or (f"more than {MOST_NODES:,} nodes: the graph is recorded up to step {now}" if full else "")
        if not self.wrong:
            self._credit += EARNED - self.graphs.follow([*(node for _, node in roots_among(named)), *roots])
            if again and self._credit > 0:
                self._credit -= self.graphs.look_again() + 8 * len(named)
                self._tell_variables(variables, named[:MOST_NAMES])
        graphs = self.graphs
        account = account_of((tensor for _, tensor in named), graphs.sizes, graphs.nbytes, graphs.nodes)
        self._add(step, (account.leaves, account.gradients, account.variables, account.graph))
        return named, account

    def _add(self, step: dict[str, Any], nbytes: Iterable[int]) -> None:
        """Add a step; what happens from now on belongs to the next one."""
        self.steps.append(step)
        self.bytes.append(tuple(nbytes))
        self.graphs.step = len(self.steps)

    def _tell_variables(self, variables: Mapping[str, object], named: list[tuple[str, Tensor]]) -> None:
        found: dict[str, Any] = {
            name: {"value": repr(value)[:80]} for name, value in variables.items() if type(value) in SCALARS and name[:2] != "__"
        }
        found.update((path, self._variable(tensor)) for path, tensor in named)
        for path in [*found, *(path for path in self.variables if path not in found)]:
            self._tell(path, found.get(path), self.graphs.step)

    def _tell(self, path: str, record: object, step: int) -> None:
        changes = self.variables.setdefault(path, [])
        if (changes[-1][1] if changes else None) != record:
            changes.append((step, record))

    def _variable(self, tensor: Tensor) -> dict[str, Any]:
        numbers = self.graphs.number
        return variable_record(tensor, lambda array: self.storages.number(owner_of(array)), lambda node: numbers.get(ref(node)))

    def data(self) -> dict[str, Any]:
        """Return what was recorded, as JSON has it."""
        self.graphs.name_modules(self._modules.calls)
        totals = [sum(one) for one in self.bytes]
        found = {
            "sources": self.places.sources(), "scopes": self.places.scopes, "steps": self.steps, "nodes": self.graphs.records,
            "variables": self.variables, "storages": self.storages.sizes, "bytes": self.bytes,
            "peak": totals.index(max(totals)) if totals else None, "failures": self.failures,
        }
        return dict(plain({**found, "note": self.wrong} if self.wrong else found))


def failure_record(event: Failure, step: int, places: Places) -> dict[str, object]:
    """Return what is told of a failure: its event, its step, the numbers of its sources, its fixes as diffs."""
    data, source = to_dict(event) or {}, event.source
    for span, label in zip(data["spans"], event.problem.labels, strict=True):
        span["source"] = places.source(label.source or source)
    for told, fix in zip(data.get("fixes", ()), event.problem.offered, strict=False):
        edits = tuple(edit for edit in fix.edits if edit.file in {"", source.name})
        told["diff"] = difference(source.lines, edits, source.first_line)
    return {**data, "step": step, "source": places.source(source)}


def variable_record(tensor: Tensor, storage_of: Callable[[Any], int], node_number: Callable[[Node], int | None]) -> dict[str, Any]:
    """Return what is told of a tensor that a name holds."""
    array, meta, node = tensor.array, tensor.meta, node_of(tensor)
    if node is None and meta is not None and meta.accumulator is not None:
        node = meta.accumulator()
    found = {
        "shape": array.shape, "dtype": tensor.dtype.name, "bytes": bytes_of(array), "storage": storage_of(array),
        "version": tensor._version, "requires_grad": tensor.needs_grad or tensor.edge is not None, "leaf": tensor.edge is None,
    }
    if node is not None and (number := node_number(node)) is not None:
        found["node"] = number
    if array.size <= VALUES and array.dtype.kind in "fiub":
        found["value"] = gradient_of(array).values
    if meta is not None and meta.grad is not None and meta.grad is not tensor:
        grad = meta.grad
        told = {} if grad.meta is not None and grad.meta.grad is not None else variable_record(grad, storage_of, node_number)
        found["grad"] = {key: told[key] for key in ("shape", "bytes", "storage", "version", "value") if key in told}
    return found


def recorded(session: Any, name: str, text: str) -> dict[str, object]:
    """Run a script to its end in a session; return what a report tells of it."""
    with SessionRecorder(session, Source(name, text), lambda _event: None) as recorder:
        session.run(text, recorder, name=name, keep_going=True)
    return recorder.data()


class _Pass:
    """A backward pass that is being followed: its nodes in their order, how many of them were told, and the bytes by owner now."""

    def __init__(self, task: Any, named: list[tuple[str, Tensor]], account: Account) -> None:
        self.task = task
        self.order: list[Node] = task.in_order()
        self.done = 0
        self.bytes = [account.leaves, account.gradients, account.variables, account.graph]
        self.named = {memory_key(one.array) for _, one in named}
        self.left: dict[int, int] = {}
        """storage -> how many saved tensors still stand in it"""
        self._with_grad = {id(one) for _, one in named if one.meta is not None and one.meta.grad is not None}

    def is_new(self, leaf: Tensor) -> bool:
        """Whether this is the first gradient that a leaf receives; it has one from now on."""
        new = id(leaf) not in self._with_grad
        self._with_grad.add(id(leaf))
        return new
