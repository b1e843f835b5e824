"""What registering a hook returns."""

from collections.abc import Callable

from gradsh.engine.ambient import current


class Handle:
    """What registering a hook returns; `remove()` takes the hook away. Also a context manager."""

    __slots__ = ("hooks", "id")
    __script_silent__ = True
    __script_attributes__ = frozenset({"remove", "id"})

    def __init__(self, hooks: dict[int, Callable[..., object]], hook: Callable[..., object]) -> None:
        self.hooks = hooks
        self.id = next(current().handle_ids)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
