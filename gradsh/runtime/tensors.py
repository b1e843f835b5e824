"""What tensors and numpy's arrays offer to scripts: PyTorch's names of attributes and methods, and every operation's."""

from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import method, operations
from gradsh.runtime.allowlist import names_in, public

_OWN = names_in(
    "requires_grad grad_fn output_nr is_leaf grad retains_grad _version _base _is_view data backward detach detach_ "
    "requires_grad_ retain_grad register_hook register_post_accumulate_grad_hook shape size ndim dim ndimension numel dtype "
    "device layout is_cuda is_cpu is_sparse itemsize nbytes element_size nelement stride storage_offset is_contiguous data_ptr "
    "untyped_storage storage "
    "is_floating_point is_complex is_signed get_device item tolist numpy names is_quantized is_meta volatile T H mT mH "
    "is_sparse_csr is_nested is_mkldnn is_mps is_xpu is_xla is_mtia is_vulkan is_maia is_ipu is_shared is_distributed "
    "real is_inference _backward_hooks"
)
_HIDDEN = frozenset({*Tensor.__slots__, "counter", "edge"})
_SPECIAL = frozenset(
    f"__{name}__" for name in names_in(
        "len getitem setitem iter contains repr bool int float index hash add sub mul truediv floordiv mod pow matmul radd rsub "
        "rmul rtruediv rpow rmatmul neg abs invert and or xor lt le gt ge eq ne iadd isub imul itruediv"
    )
)

ARRAY = names_in(
    "shape dtype ndim size T nbytes itemsize real imag flat all any argmax argmin argsort astype clip copy cumprod cumsum "
    "diagonal dot fill flatten item max mean min nonzero prod ptp ravel repeat reshape round searchsorted sort squeeze std "
    "sum swapaxes take tobytes tolist trace transpose var __len__ __getitem__ __iter__ argpartition partition put compress conj "
    "conjugate strides"
)
"""What an array or a number of numpy's offers: computing and reading; no files, no memory, no buffers."""

DTYPE = frozenset({"name", "itemsize", "kind"})


def tensor_offers(name: str) -> bool:
    """Tell whether every tensor offers an attribute."""
    if name in _OWN or name in _SPECIAL:
        return True
    if name in _HIDDEN or not public(name):
        return False
    return method(name) is not None


def tensor_names() -> list[str]:
    """Return the names that every tensor offers."""
    return sorted({*_OWN, *(name for name in operations() if tensor_offers(name))})


__all__ = ["ARRAY", "DTYPE", "Tensor", "tensor_names", "tensor_offers"]
