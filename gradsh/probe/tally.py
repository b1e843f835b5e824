"""The graphs that are alive, followed from statement to statement: only what is new is looked at, and what dies takes itself off.

A walk over all that is alive would cost each statement more, the more nodes there are. Whatever a node leads to is older than it,
so a walk ends at what is known already.
"""

from collections.abc import Iterable, Iterator
from weakref import ref

from gradsh.engine.dispatch.compact_node import CompactNode
from gradsh.engine.graph.node import Node
from gradsh.engine.values.reduced import bytes_of
from gradsh.engine.values.storage import owner_of
from gradsh.probe.given import arrays_in, arrays_instead


class Tally:
    """Nodes that are alive, their live saved tensors (`buffers`), and the bytes of the memories that these stand in, each once."""

    __slots__ = ("__weakref__", "_forget", "_known", "_more", "buffers", "nbytes", "sizes")

    def __init__(self) -> None:
        self._known: dict[ref[Node], tuple[int, ...]] = {}
        """node -> the memories that its saved tensors stand in, one an entry"""
        self._more: dict[int, int] = {}
        """memory -> how many further entries stand in it, beside the first"""
        self.sizes: dict[int, int] = {}
        self.nbytes = 0
        self.buffers = 0
        this = ref(self)

        def forget(gone: ref[Node]) -> None:
            tally = this()
            if tally is not None:
                tally._drop(gone)

        self._forget = forget

    @property
    def nodes(self) -> int:
        """How many nodes are alive."""
        return len(self._known)

    def follow(self, roots: Iterable[Node]) -> int:
        """Look at what the roots lead to and is not known yet; return how many nodes that were."""
        stack = list(roots)
        known, before, forget = self._known, len(self._known), self._forget
        while stack:
            node = stack.pop()
            if ref(node) not in known:
                one = ref(node, forget)
                known[one] = self._hold(node, one)
                stack += node.below()
        return len(known) - before

    def again(self, nodes: Iterable[Node], *, back: bool = False) -> None:
        """Look again at what nodes hold: a pass or a command may have freed it, or (`back`) put it back."""
        for node in nodes:
            one = ref(node)
            held = self._known.get(one)
            if held is not None and (held or back):
                self._release(held)
                self._known[one] = self._hold(node, one)

    def memories(self) -> Iterator[tuple[Node, int, int]]:
        """Yield (node, memory, bytes) for each memory that saved tensors stand in, with one of the nodes that saved it."""
        left = self.sizes.copy()
        for known, held in self._known.items():
            node = known() if held else None
            if node is not None:
                for memory in held:
                    size = left.pop(memory, None)
                    if size is not None:
                        yield node, memory, size

    def _hold(self, node: Node, _known: ref[Node]) -> tuple[int, ...]:
        arrays = arrays_in(node)
        own = None if type(node) is CompactNode else getattr(node, "__dict__", None)
        if own:  # what a custom function put on its ctx lives with the graph, too
            arrays = [*arrays, *arrays_instead(own)]
        if not arrays:
            return ()
        held = []
        sizes = self.sizes
        for array in arrays:
            owner = array if array.base is None else owner_of(array)
            key = id(owner)
            held.append(key)
            if key in sizes:
                self._more[key] = self._more.get(key, 0) + 1
            else:
                sizes[key] = bytes_of(owner)
                self.nbytes += sizes[key]
        self.buffers += len(held)
        return tuple(held)

    def _drop(self, gone: ref[Node]) -> None:
        self._release(self._known.pop(gone, ()))

    def _release(self, held: tuple[int, ...]) -> None:
        self.buffers -= len(held)
        for memory in held:
            more = self._more.get(memory, 0)
            if not more:
                self.nbytes -= self.sizes.pop(memory)
            elif more == 1:
                del self._more[memory]
            else:
                self._more[memory] = more - 1
