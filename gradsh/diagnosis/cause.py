"""The cause of a failure as a value: what was saved, freed and written, where, and in which calls and passes of loops."""

from typing import Any, NamedTuple

from gradsh.runtime.activation import Place


class Cause(NamedTuple):
    """What stands behind a failure of autograd's; what a kind has not is None or empty.

    `node` needs the saved tensor `name` of `shape` and `nbytes`; `saved`, `freed`, `needed` and `writes` are places. `cuts`
    are the places where a history ended. `tensor` is the tensor that the failure is about.
    """

    node: Any = None
    name: str = ""
    shape: tuple[int, ...] = ()
    nbytes: int = 0
    saved: Place | None = None
    freed: Place | None = None
    needed: Place | None = None
    writes: tuple[Place, ...] = ()
    cuts: tuple[Any, ...] = ()
    tensor: Any = None

    @property
    def repeated(self) -> bool:
        """Whether the statement that freed the buffer is the one that needs it again."""
        freed, needed = self.freed, self.needed
        return (freed is not None and needed is not None
                and needed.statement == freed.statement and needed.source is freed.source)

    @property
    def carried(self) -> bool:
        """Whether the buffer was saved in an earlier pass of a loop around both, or in an earlier call."""
        if self.saved is None or self.needed is None:
            return False
        deeper = self.saved.calls[len(self.needed.calls):]
        if deeper and 0 < deeper[0].iteration < self.needed.iteration:
            return True
        return any(then != this for then, this in zip(self.saved.passes, self.needed.passes, strict=False)) or any(
            then.span == this.span and then.iteration != this.iteration
            for then, this in zip(self.saved.calls, self.needed.calls, strict=False)
        )
