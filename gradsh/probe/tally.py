"""The graphs that are alive, followed from statement to statement: only what is new is looked at, and what dies takes itself off.

A walk over all that is alive would cost each statement more, the more nodes there are. Whatever a node leads to is older than it,
so a walk ends at what is known already.
"""

import weakref
from collections.abc import Iterable, Iterator

from gradsh.engine.graph.node import Node
from gradsh.engine.values.storage import owner_of
from gradsh.probe.given import arrays_in, arrays_instead


class _Known(weakref.ref[Node]):
    """A node that is known, held weakly, with what it is known by when it is gone."""

    __slots__ = ("key",)
    key: int


class Tally:
    """Nodes that are alive, their live saved tensors (`buffers`), and the bytes of the memories that these stand in, each once."""

    __slots__ = ("__weakref__", "_forget", "_held", "_known", "_users", "buffers", "nbytes", "sizes")

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._held: dict[int, tuple[int, ...]] = {}
        """known node -> the memories that its saved tensors stand in, one an entry"""
        self._users: dict[int, int] = {}
        """memory -> how many entries stand in it"""
        self.sizes: dict[int, int] = {}
        self.nbytes = 0
        self.buffers = 0
        this = weakref.ref(self)

        def forget(gone: weakref.ref[Node]) -> None:
            tally = this()
            if tally is not None:
                tally._drop(gone.key)  # type: ignore[attr-defined]

        self._forget = forget

    @property
    def nodes(self) -> int:
        """How many nodes are alive."""
        return len(self._known)

    def follow(self, roots: Iterable[Node]) -> int:
        """Look at what the roots lead to and is not known yet; return how many nodes that were."""
        stack = list(roots)
        known, before = self._known, len(self._known)
        while stack:
            node = stack.pop()
            if id(node) not in known:
                one = known[id(node)] = _Known(node, self._forget)
                one.key = id(node)
                self._hold(node)
                stack += [edge[0] for edge in node.edges if edge is not None]
        return len(known) - before

    def again(self, nodes: Iterable[Node], *, back: bool = False) -> None:
        """Look again at what nodes hold: a pass or a command may have freed it, or (`back`) put it back."""
        for node in nodes:
            if id(node) in self._known and (back or self._held.get(id(node))):
                self._release(id(node))
                self._hold(node)

    def memories(self) -> Iterator[tuple[Node, int, int]]:
        """Yield (node, memory, bytes) for each memory that saved tensors stand in, with one of the nodes that saved it."""
        left = self.sizes.copy()
        for key, held in self._held.items():
            node = self._known[key]()
            if node is not None:
                for memory in held:
                    size = left.pop(memory, None)
                    if size is not None:
                        yield node, memory, size

    def _hold(self, node: Node) -> None:
        arrays = arrays_in(node)
        own = getattr(node, "__dict__", None)  # what a custom function put on its ctx lives with the graph, too
        if own:
            arrays = [*arrays, *arrays_instead(own)]
        if not arrays:
            return
        owners = [owner_of(array) for array in arrays]
        self._held[id(node)] = tuple([id(owner) for owner in owners])
        for owner in owners:
            key = id(owner)
            self._users[key] = self._users.get(key, 0) + 1
            if key not in self.sizes:
                self.sizes[key] = owner.nbytes
                self.nbytes += owner.nbytes
        self.buffers += len(owners)

    def _drop(self, key: int) -> None:
        self._known.pop(key, None)
        self._release(key)

    def _release(self, key: int) -> None:
        held = self._held.pop(key, ())
        self.buffers -= len(held)
        for memory in held:
            left = self._users[memory] - 1
            if left:
                self._users[memory] = left
            else:
                del self._users[memory]
                self.nbytes -= self.sizes.pop(memory)
