"""gradsh: a shell for autograd that shows what a backward pass saved, freed and kept.

As a library it offers the engine with PyTorch's names: `gradsh.tensor`, `gradsh.nn`, `gradsh.optim`, … Nothing is
imported before it is asked for.
"""

from gradsh.version import __version__ as __version__

TYPE_CHECKING = False  # importing `typing` for it would cost as much as all the rest of `gradsh --version`
if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> "Any":
    """Find PyTorch's name on first use."""
    if name.startswith("__"):
        raise AttributeError(name)
    from gradsh.api.torch import NAMESPACES

    found = NAMESPACES["torch"].get(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from gradsh.api.torch import NAMESPACES

    return NAMESPACES["torch"].names()
