"""Padding: constant, zero, reflecting, replicating, circular."""

from gradsh.api.nn.conv import repeated
from gradsh.api.nn.declared import functional
from gradsh.api.nn.module import Module
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class _Pad(Module):
    dimensions = 0
    mode = ""
    value: float | None = None

    def __init__(self, padding: object) -> None:
        super().__init__()
        self.padding = repeated(padding, 2 * self.dimensions)

    def forward(self, input: Tensor) -> Tensor:
        """Pad the last dimensions."""
        if self.mode == "circular":
            n = self.dimensions
            if input.ndim not in {n + 1, n + 2}:
                message = f"expected {n + 1}D or {n + 2}D input (got {input.ndim}D input)"
                raise fail("shape", message, ValueError, tensor=input)
        return functional("pad")(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: object, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """Return padding and value."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_Pad):
    mode = "constant"
    value = 0.0


def _family(base: type[_Pad], prefix: str, sentence: str, mode: str) -> tuple[type[_Pad], ...]:
    """Return the classes of one mode for one, two and three dimensions."""
    made = []
    for n in (1, 2, 3):
        parts = {
            "dimensions": n, "mode": mode, "__doc__": f"{sentence} of {n} dimension{'s' * (n > 1)}.", "__module__": __name__,
        }
        made.append(type(f"{prefix}Pad{n}d", (base,), parts))
    return tuple(made)


ConstantPad1d, ConstantPad2d, ConstantPad3d = _family(_ConstantPad, "Constant", "Padding with a value", "constant")
ZeroPad1d, ZeroPad2d, ZeroPad3d = _family(_ZeroPad, "Zero", "Padding with zeros", "constant")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = _family(_Pad, "Reflection", "Padding by reflection", "reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = _family(_Pad, "Replication", "Padding with the edge", "replicate")
CircularPad1d, CircularPad2d, CircularPad3d = _family(_Pad, "Circular", "Padding from the other side", "circular")
