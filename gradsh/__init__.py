"""gradsh shows why a backward fails, what autograd saved and freed, and what holds memory.

As a library it has the engine under PyTorch's names: `gradsh.tensor`, `import gradsh.nn as nn`, … Each name is imported on
first use.
"""

import sys

from gradsh.version import __version__ as __version__

TYPE_CHECKING = False  # importing `typing` for it would cost as much as all the rest of `gradsh --version`
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any


def __getattr__(name: str) -> "Any":
    """Find PyTorch's name on first use. What is found is stored here, where `any` or `range` then hide Python's own."""
    from gradsh.api.library import attribute

    return attribute(name)


def keep_memory() -> bool:
    """Keep memory that this process frees for what it allocates next; return whether the system does so (glibc does).

    Large temporaries then cost no fresh pages, and the process stays as large as its peak. The program `gradsh` does this at its
    start; a library leaves it to the program that imports it.
    """
    from gradsh.process.malloc import keep_memory as keep

    return keep()


def load_ipython_extension(shell: "Any") -> None:
    """Give IPython the commands as magics: `%load_ext gradsh`."""
    from gradsh.lens.magics import load

    load(shell)


def unload_ipython_extension(shell: "Any") -> None:
    """Stop watching: `%unload_ext gradsh`."""
    from gradsh.lens.magics import unload

    unload(shell)


def __dir__() -> list[str]:
    from gradsh.api.library import names

    return names()


class _Finder:
    """Answers `import gradsh.nn`: what is no file of this folder may be a namespace of PyTorch's."""

    @staticmethod
    def find_spec(name: str, _path: "Any" = None, _target: "Any" = None) -> "ModuleSpec | None":
        """Return how a namespace becomes a module, None for any other name."""
        if not name.startswith("gradsh."):
            return None
        from gradsh.api.library import find_spec

        return find_spec(name)


sys.meta_path.append(_Finder)
