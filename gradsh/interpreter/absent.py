"""What an import binds for a module that gradsh does not have: a name that explains itself when it is used."""

from typing import Any, NoReturn

from gradsh.text.fault import fail

_WAYS = {
    "matplotlib": "print the numbers, or save the graph with `graph T --format svg --output FILE`",
    "torchvision": "write the transform with tensor operations, or make the data with `torch.randn`",
    "torchviz": "`graph T` draws the graph here",
    "os": "a script here reads no files and no environment",
    "sys": "a script here has no process to ask; `memory` and `buffers` tell about memory",
    "gc": "memory goes at once when the last reference does; `memory` and `leaks` tell what is held",
    "pandas": "put the numbers into a list or `torch.tensor`",
}


class Absent:
    """A module that gradsh does not have: importing it is allowed, using it says what to do instead."""

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def explain(self, *_: Any, **__: Any) -> NoReturn:
        """Raise ModuleNotFoundError with the way to do without the module."""
        top = self._module.partition(".")[0]
        way = _WAYS.get(top, "remove what needs it; `torch`, `math`, `numpy` and a few more can be imported")
        raise fail(
            "name", f"gradsh has no module '{self._module}'; {way}", ModuleNotFoundError, name=self._module, way=way
        )

    __call__ = __iter__ = __getitem__ = __len__ = __bool__ = __enter__ = __add__ = __mul__ = explain

    def __exit__(self, *_: object) -> None:
        return None

    def __repr__(self) -> str:
        return f"<module '{self._module}', which gradsh does not have>"
