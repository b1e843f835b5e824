"""The lens: graphs, saved tensors, backwards and failures of a program that runs on PyTorch.

    from gradsh import lens

    lens.start()                  # or: with lens.watching(): …
    lens.graph(loss)              # prints like the command of that name; its fields hold the data
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
OLDEST = (2, 4)
WITHOUT_TORCH = 'this needs PyTorch: install it with `pip install "gradsh[torch]"`'


def missing() -> str:
    """Say what the lens lacks in this environment: PyTorch, or one that is new enough; empty for nothing."""
    try:
        import torch
    except ImportError:
        return WITHOUT_TORCH
    if tuple(map(int, torch.__version__.split(".")[:2])) < OLDEST:
        return f"PyTorch {torch.__version__} is too old: this needs {'.'.join(map(str, OLDEST))} or later"
    return ""


def __getattr__(name: str) -> "Any":
    """Find a function on first use. Raises ImportError that says how to install PyTorch where it is not there."""
    if name not in __all__:
        raise AttributeError(f"module 'gradsh.lens' has no attribute {name!r}")
    if lacking := missing():
        raise ImportError(f"gradsh.lens: {lacking}")
    if name == "prompt":
        from gradsh.lens.prompting import prompt

        return prompt
    from gradsh.lens import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return list(__all__)
