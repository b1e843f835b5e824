"""The lens: graphs, saved tensors, passes and failures of a program that runs on PyTorch.

    from gradsh import lens

    lens.start()                  # or: with lens.watching(): …
    lens.graph(loss)              # each prints as the command of that name does, and holds its data
    lens.buffers(loss, live=True)

The one package of gradsh that imports torch, and only when one of its functions is called.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [  # found by __getattr__
    "buffers", "command", "freed", "graph", "holders", "leaks", "live_bytes", "memory", "plan", "prompt", "reclaimable_bytes",
    "saved", "start", "stop", "watching", "why",
]
WITHOUT_TORCH = 'this needs PyTorch: install it with `pip install "gradsh[torch]"`'


def __getattr__(name: str) -> "Any":
    """Find a function on first use. Raises ImportError that says how to install PyTorch where it is not there."""
    if name not in __all__:
        raise AttributeError(f"module 'gradsh.lens' has no attribute {name!r}")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(f"gradsh.lens: {WITHOUT_TORCH}") from error
    if name == "prompt":
        from gradsh.lens.prompting import prompt

        return prompt
    from gradsh.lens import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return list(__all__)
