"""How PyTorch names the type of a value in its error messages."""


from gradsh.engine.graph.tensor import Tensor

_OURS = "gradsh.api.nn."


def typename(value: object) -> str:
    """Return PyTorch's name for the type of `value`: torch.FloatTensor, torch.nn.modules.linear.Linear, list."""
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.title}Tensor"
    kind = value if isinstance(value, type) else type(value)
    origin = kind.__module__
    if origin.startswith(_OURS):
        origin = "torch.nn.modules." + origin.removeprefix(_OURS)
    elif origin.startswith("gradsh."):
        return "torch.dtype" if kind.__name__.endswith("DType") else f"torch.{kind.__name__}"
    return kind.__qualname__ if origin in {"builtins", "__builtin__", None} else f"{origin}.{kind.__qualname__}"
