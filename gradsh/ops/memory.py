"""`set_`: giving a tensor other memory, in place."""


import numpy as np

from gradsh.engine.dispatch.declare import op
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.dtype import Array, cpp_name
from gradsh.engine.values.storage_objects import TypedStorage, UntypedStorage
from gradsh.ops.view import as_strided_array
from gradsh.text.fault import fail


def _memory(self: Array, source: object) -> Array:
    """Return all memory of a tensor or a storage as elements of the dtype of `self`."""
    if not isinstance(source, (Tensor, UntypedStorage)):
        raise fail("type", f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}", TypeError)
    if isinstance(source, (Tensor, TypedStorage)) and source.dtype.numpy != self.dtype:
        message = f"Could not set tensor of type {cpp_name(source.dtype.numpy)} to a tensor of type {cpp_name(self.dtype)}"
        raise fail("dtype", message)
    storage = TypedStorage(source.array) if isinstance(source, Tensor) else source
    return storage.elements().view(self.dtype)


def _set(self: Array, source: object) -> Array:
    memory = _memory(self, source)
    return source.array if isinstance(source, Tensor) else memory


def _set_part(self: Array, source: object, storage_offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    if storage_offset < 0:
        raise fail("value", f"Tensor: invalid storage offset {storage_offset}")
    memory = _memory(self, source)
    steps = stride or tuple(int(np.prod(size[place + 1 :], dtype=np.int64)) for place in range(len(size)))
    return as_strided_array(memory, size, steps, storage_offset)


for _text, _forward in (
    ("set_(self)", lambda self: np.zeros(0, self.dtype)),
    ("set_(self, source: any)", _set),
    ("set_(self, source: any, storage_offset: int, size: ints, stride: ints = ())", _set_part),
):
    op(_text, "", "Give a tensor the memory of another tensor or of a storage, in place.", forward=_forward, kind="geometry",
       spaces=("Tensor",), grads={"self": None})
