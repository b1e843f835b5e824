"""`nn.Buffer`: a tensor that a module takes for a buffer when it becomes an attribute."""

from typing import Any

from gradsh.engine.graph.tensor import Tensor


class _Marked(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and getattr(value, "_is_buffer", False)


class BufferMark(metaclass=_Marked):
    """`Buffer(data, persistent=True)` gives a leaf over the memory of `data`; one that persists is in the module's state_dict."""

    def __new__(cls, data: Any, *, persistent: bool = True) -> Any:
        """Return the marked leaf."""
        made = data.detach().requires_grad_(data.requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made
