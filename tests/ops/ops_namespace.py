"""PyTorch's names over the registered operations, for the tools and tests of this folder.

`torch.mul`, `F.relu`, `torch.linalg.inv` are looked up among the records; what is no operation (dtypes, `nn`, random
numbers) is asked of the public package. A name that does not exist raises `Missing`.
"""

from gradsh.engine.registry import lookup
from gradsh.engine.values.dtype import DTYPES


class Missing(LookupError):
    """The operation has no record yet."""


class Space:
    """A namespace: the operations whose record names the space."""

    def __init__(self, space, path):
        self._space = space
        self._path = path

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = lookup(name, self._space)
        if found is not None:
            return found
        return self._elsewhere(name)

    def _elsewhere(self, name):
        try:
            import gradsh

            value = gradsh
            for part in self._path:
                value = getattr(value, part)
            return getattr(value, name)
        except (AttributeError, ImportError, KeyError):
            raise Missing(".".join(("torch", *self._path, name))) from None


class Nn(Space):
    functional = Space("F", ("nn", "functional"))


class Torch(Space):
    linalg = Space("linalg", ("linalg",))
    special = Space("special", ("special",))
    nn = Nn("nn", ("nn",))


torch = Torch("torch", ())
for each in DTYPES:
    setattr(torch, each.name, each)
for short, full in (("float", "float32"), ("double", "float64"), ("long", "int64"), ("int", "int32")):
    setattr(torch, short, getattr(torch, full))
F = torch.nn.functional


def absent(error):
    """Whether an exception says that a name does not exist yet (also a Tensor method or an operator)."""
    if isinstance(error, Missing):
        return True
    if isinstance(error, AttributeError):
        return "'Tensor' object has no attribute" in str(error)
    if isinstance(error, KeyError):  # find("name") or an operator without a function
        return bool(error.args) and isinstance(error.args[0], (str, tuple))
    return False
