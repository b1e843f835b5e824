"""gradsh: a shell for autograd that shows what a backward pass saved, freed and kept.

As a library it offers the engine with PyTorch's names: `gradsh.tensor`, `gradsh.nn`, `gradsh.optim`, … Nothing is
imported before it is asked for.
"""

from gradsh.version import __version__ as __version__

TYPE_CHECKING = False  # importing `typing` for it would cost as much as all the rest of `gradsh --version`
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> "Any":
    """Find PyTorch's name on first use. A file of this folder is none: `from gradsh import batch` asks here before it imports it."""
    if name.startswith("__") or _is_part(name):
        raise AttributeError(f"module 'gradsh' has no attribute {name!r}")
    from gradsh.api.torch import NAMESPACES

    found = NAMESPACES["torch"].get(name)
    globals()[name] = found
    return found


def _is_part(name: str) -> bool:
    from os import path

    return any(path.exists(f"{__path__[0]}/{name}{end}") for end in (".py", ""))  # noqa: PTH110  # importing pathlib takes longer


def __dir__() -> list[str]:
    from gradsh.api.torch import NAMESPACES

    return NAMESPACES["torch"].names()
