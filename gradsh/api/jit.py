"""torch.jit: what stands in a program without a change of its numbers. Functions stay what they are; nothing is compiled.

A scripted module is another object in PyTorch, with other names and files: that is refused.
"""

from collections.abc import Callable
from typing import Any

from gradsh.api.nn.module import Module
from gradsh.engine.ambient import standing_in, tell
from gradsh.text.fault import fail


@standing_in("torch.jit.script", "it returns the function unchanged")
def script(obj: Any, **_: object) -> Any:
    """Return the function or class itself. Raises TypeError for a module."""
    if isinstance(obj, Module):
        way = "leave it out: call the module itself"
        raise fail("type", f"torch.jit.script of a module is not part of gradsh; {way}", TypeError, way=way)
    tell(script)
    return obj


def same(fn: Any = None, **_: object) -> Any:
    """Return the function itself (`ignore`, `unused`, `export`: what they tell the compiler), or with settings what does so."""
    return fn if callable(fn) else _same


def _same(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def no() -> bool:
    """Return that nothing is being compiled."""
    return False


def annotate(the_type: object, the_value: Any) -> Any:
    """Return the value."""
    del the_type
    return the_value
