"""What a tensor tells of its elements: extents, memory, data type, and their values as Python's own. The base of Tensor."""

import math
from collections.abc import Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.graph.lazy_methods import lazy_methods
from gradsh.engine.graph.types import TensorBase
from gradsh.engine.registry import find
from gradsh.engine.values.device import CPU, Device
from gradsh.engine.values.dtype import Array, DType, of_numpy
from gradsh.engine.values.formats import TensorLayout, strided
from gradsh.engine.values.reduced import BFLOAT16, bytes_of
from gradsh.engine.values.shape import at_dim
from gradsh.engine.values.size import Size
from gradsh.text.fault import fail

if TYPE_CHECKING:

    class Lent(TensorBase):
        """The methods that operations are."""

else:
    Lent = lazy_methods()


def _never(why: str) -> property:
    """Return a property that is False, and why."""
    return property(lambda _: False, doc=f"False: {why}.")


def check_numpy(tensor: Any) -> None:
    """Raise PyTorch's error for an array over a tensor that requires grad, while gradients are recorded."""
    if tensor.requires_grad and current().grad_enabled:
        message = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        raise fail("other", message, RuntimeError, tensor=tensor)


def check_scalar_type(array: Array) -> None:
    """Raise PyTorch's TypeError for bfloat16, which numpy does not have."""
    if array.dtype == BFLOAT16:
        raise fail("dtype", "Got unsupported ScalarType BFloat16", TypeError, way="convert it first: `.float().numpy()`")


class Elements(Lent):
    """What depends on a tensor's array alone. Methods that are operations come from the base, until they are used."""

    __slots__ = ()

    # --- shape and type -----------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The extents."""
        return Size(self.array.shape)

    def size(self, dim: int | None = None) -> Any:
        """Return the extents, or that of one dimension."""
        if dim is None:
            return Size(self.array.shape)
        return at_dim(self.array.shape, dim)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.array.ndim

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.array.ndim

    ndimension = dim

    @property
    def T(self) -> Any:
        """The tensor with its dimensions reversed, as a view."""
        if self.array.ndim not in (0, 2):
            _warn_reversed()
        return find("permute")(self, tuple(range(self.array.ndim))[::-1])

    @property
    def mT(self) -> Any:
        """The transposes of the matrices in the last two dimensions, as a view."""
        if self.array.ndim == 0:
            return self
        if self.array.ndim < 2:
            message = f"tensor.mT is only supported on matrices or batches of matrices. Got {self.array.ndim}-D tensor."
            raise fail("shape", message, RuntimeError, tensor=self)
        return find("transpose")(self, -2, -1)

    mH = mT  # noqa: N815  (conjugation changes nothing: all tensors are real)

    @property
    def H(self) -> Any:
        """The transpose of a matrix, as a view."""
        if self.array.ndim not in (0, 2):
            message = f"tensor.H is only supported on matrices (2-D tensors). Got {self.array.ndim}-D tensor."
            raise fail("shape", message, RuntimeError, tensor=self)
        return self if self.array.ndim == 0 else find("transpose")(self, -2, -1)

    @property
    def real(self) -> Any:
        """The tensor itself: all tensors are real."""
        return self

    def numel(self) -> int:
        """Return the number of elements."""
        return int(self.array.size)

    nelement = numel

    @property
    def dtype(self) -> DType:
        """The data type."""
        return of_numpy(self.array.dtype)

    @property
    def device(self) -> Device:
        """The CPU."""
        return CPU

    @property
    def layout(self) -> TensorLayout:
        """The memory layout, always strided."""
        return strided

    @property
    def is_cpu(self) -> bool:
        """True: gradsh computes on the CPU."""
        return True

    is_sparse = is_sparse_csr = is_nested = is_mkldnn = is_quantized = _never("all tensors are strided, of plain numbers")
    is_cuda = is_meta = is_mps = is_xpu = is_xla = is_mtia = is_vulkan = is_maia = is_ipu = _never("gradsh computes on the CPU")

    def is_shared(self) -> bool:
        """Return False: a program has one process."""
        return False

    is_distributed = is_shared

    @property
    def itemsize(self) -> int:
        """Size of one element in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Number of elements times the size of one, in bytes."""
        return bytes_of(self.array)

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return self.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """Return the steps between elements, counted in elements, of all dimensions or of one."""
        array = self.array
        if array.size or any(array.strides):
            strides = tuple(step // array.itemsize for step in array.strides)
        else:  # numpy gives arrays without elements no steps, PyTorch those of row-major order
            strides = tuple(math.prod(max(n, 1) for n in array.shape[place + 1 :]) for place in range(array.ndim))
        if dim is None:
            return strides
        return at_dim(strides, dim, "stride")

    def storage_offset(self) -> int:
        """Return how many elements after the start of its memory the tensor begins."""
        from gradsh.engine.values.storage import owner_of

        start = owner_of(self.array).__array_interface__["data"][0]
        return int((self.array.__array_interface__["data"][0] - start) // self.array.itemsize)

    def is_contiguous(self, memory_format: object = None) -> bool:
        """Whether the elements stand in memory in row-major order without gaps (or as a memory format has them)."""
        array = self.array
        last = {"channels_last": 4, "channels_last_3d": 5}.get(getattr(memory_format, "name", ""))
        if last is not None:
            return array.ndim == last and bool(np.moveaxis(array, 1, -1).flags.c_contiguous)
        return bool(array.flags.c_contiguous)

    def data_ptr(self) -> int:
        """Return the address of the first element, 0 where there is none; equal for two tensors at the same place of one memory."""
        return int(self.array.__array_interface__["data"][0]) if self.array.size else 0

    def untyped_storage(self) -> Any:
        """Return the memory that the tensor lies in, to look at."""
        from gradsh.engine.values.storage_objects import UntypedStorage

        return UntypedStorage(self.array)

    def storage(self) -> Any:
        """Return the memory that the tensor lies in as elements of its dtype, to look at."""
        from gradsh.engine.values.storage_objects import TypedStorage

        current().warning(_TYPED)
        return TypedStorage(self.array)

    def is_floating_point(self) -> bool:
        """Whether the data type is a floating point type."""
        return self.array.dtype.kind == "f"

    def is_complex(self) -> bool:
        """Return False."""
        return False

    def get_device(self) -> int:
        """Return -1, the CPU's number."""
        return -1

    # --- to Python ----------------------------------------------------------------------------------------------

    def item(self) -> Any:
        """Return the one element as a Python number."""
        if self.array.size != 1:
            message = f"a Tensor with {self.array.size} elements cannot be converted to Scalar"
            raise fail("value", message, RuntimeError, tensor=self)
        current().note_read()
        return self.array.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers (a number for a 0-d tensor)."""
        return self.array.tolist()

    def __bool__(self) -> bool:
        if self.array.size != 1:
            if self.array.size == 0:
                message = "Boolean value of Tensor with no values is ambiguous"
            else:
                message = "Boolean value of Tensor with more than one value is ambiguous"
            raise fail("value", message, RuntimeError, tensor=self)
        current().note_read()
        return bool(self.array.item())

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def _number(self) -> Any:
        if self.array.size != 1:
            raise fail("value", "only one element tensors can be converted to Python scalars", ValueError, tensor=self)
        current().note_read()
        return self.array.item()

    def __index__(self) -> int:
        if self.array.size != 1 or self.array.dtype.kind not in "iub":
            message = "only integer tensors of a single element can be converted to an index"
            raise fail("value", message, TypeError, tensor=self)
        return int(self.array.item())

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise fail("type", "len() of a 0-d tensor", TypeError, tensor=self)
        return int(self.array.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self.array.ndim == 0:
            raise fail("type", "iteration over a 0-d tensor", TypeError, tensor=self)
        return iter(find("unbind")(self, 0))

    def __contains__(self, element: object) -> bool:
        value = element.array if isinstance(element, Elements) else element
        return bool((self.array == value).any())

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        from gradsh.engine.printing.format import format_scalar

        return format_scalar(self.array, spec, whole=self.__str__, class_name=type(self).__name__)


for _name, _method in vars(Elements).items():
    if isinstance(_method, FunctionType) and _method.__name__ == _name:
        _method.__qualname__ = f"Tensor.{_name}"  # as Python's errors and `print(x.size)` say it
_TYPED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should only "
    "matter to you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
    "tensor.storage()"
)


def _warn_reversed() -> None:
    """Warn that `x.T` of more or fewer than two dims is on its way out."""
    current().warning(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
        "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - "
        "1, -1, -1))` to reverse the dimensions of a tensor."
    )
