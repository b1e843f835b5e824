"""`out=`: writing an operation's result into a tensor that is there already; and giving a tensor another size.

Every operation that PyTorch lets write its result takes `out`; the records do not know of it. The result is computed as
always and then written, which counts as one write.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.dispatch.saved_hooks import announce_write
from gradsh.engine.dispatch.tangents import levels, tangent_of
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.dtype import DType, as_dtype, of_numpy
from gradsh.engine.values.named_result import NamedResult, named_result
from gradsh.engine.values.overlap import check_apart, check_distinct
from gradsh.engine.values.reduced import write
from gradsh.engine.values.storage import owner_of
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.engine.dispatch.operation import Operation

_NAMES = (
    "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr alias_copy all amax amin aminmax angle any arange arccos "
    "arccosh arcsin arcsinh arctan arctanh argmax argmin as_strided_copy asin asinh atan atan2 atanh avg_pool2d avg_pool3d baddbmm "
    "bernoulli bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm bucketize cat ceil cholesky "
    "cholesky_inverse cholesky_solve clamp clamp_max clamp_min clip column_stack concat concatenate conj_physical copysign cos cosh "
    "cross cummax cummin cumprod cumsum deg2rad diag diagonal_copy diff digamma div divide dot dstack empty entr eq equal erf erfc erfcx "
    "erfinv exp exp2 expand_copy expit expm1 eye fix float_power floor floor_divide fmax fmin fmod frac frexp full gammaln gather gcd ge "
    "gelu geqrf ger greater greater_equal gt hardshrink heaviside histc hstack hypot i0 i0e i1 i1e index_add index_copy index_reduce "
    "index_select inner inverse isin isneginf isposinf kron kthvalue lcm ldexp le lerp less less_equal lgamma linalg_cholesky "
    "linalg_cholesky_ex linalg_cond linalg_cross linalg_det linalg_eigh linalg_eigvalsh linalg_householder_product linalg_inv "
    "linalg_inv_ex linalg_lstsq linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_multi_dot linalg_norm linalg_pinv "
    "linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals linalg_tensorinv "
    "linalg_tensorsolve linalg_vecdot linalg_vector_norm linear linspace log log10 log1p log2 log_ndtr log_softmax logaddexp logaddexp2 "
    "logcumsumexp logical_and logical_not logical_or logical_xor logit logspace logsumexp lt masked_select matmul matrix_power max "
    "maximum mean min minimum mm mode msort mul multigammaln multinomial multiply mv mvlgamma nan_to_num nanmean nanquantile nansum "
    "narrow_copy ndtr ndtri ne neg negative nextafter nonzero norm normal normalize not_equal ones orgqr outer permute_copy polygamma "
    "pow prod psi qr quantile rad2deg rand randint randn randperm range reciprocal remainder renorm round row_stack rsqrt scatter "
    "scatter_add scatter_reduce searchsorted sgn sigmoid sign signbit sin sinc sinh slice_scatter softmax softplus softshrink sort "
    "special_round split_with_sizes_copy sqrt square squeeze_copy stack std sub subtract sum svd t_copy take take_along_dim tan tanh "
    "tensordot threshold topk transpose_copy triangular_solve tril triu true_divide trunc unbind_copy unfold_copy unsqueeze_copy var "
    "vdot view_copy vstack where xlog1py xlogy zeros zeta"
)
WRITABLE = frozenset(_NAMES.split())
"""The operations that take `out`."""


def into(operation: "Operation", args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
    """Run an operation called with `out` and write its result there; several results into a tuple of tensors.

    Raises TypeError where it takes none, RuntimeError where anything requires grad or the result's type is no less than out's.
    """
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    out = kwargs["out"]
    if isinstance(out, Tensor) and "pin_memory" in operation.records[0].text:
        rest["dtype"] = _shared_dtype(out, rest.get("dtype"))
    if out is None and operation.name in WRITABLE:
        return operation(*args, **rest)
    outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    if operation.name not in WRITABLE or not all(isinstance(one, Tensor) for one in outs):
        from gradsh.engine.dispatch.overload_errors import mismatch

        raise mismatch(operation, args, kwargs)
    if current().grad_enabled and any(one.requires_grad for one in (*_tensors(args), *_tensors(rest.values()), *outs)):
        message = (
            f"{operation.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
        raise fail("other", message)
    if current().saved_hooks and any(
        tangent_of(one, level) is not None for level in levels() for one in (*_tensors(args), *_tensors(rest.values()), *outs)
    ):
        message = f"Trying to use forward AD with {operation.name}_out that does not support it because it is an out= function"
        raise fail("other", message, NotImplementedError)
    with grad_mode(False):
        found = operation(*args, **rest)
    inputs = [one.array for one in (*_tensors(args), *_tensors(rest.values()))]
    results = tuple(found) if isinstance(found, tuple) else (found,)
    if isinstance(found, tuple) is not isinstance(out, (tuple, list)):
        wanted, given = ("tuple of Tensors", "Tensor") if isinstance(found, tuple) else ("Tensor", type(out).__name__)
        raise fail("type", f"{operation.name}(): argument 'out' must be {wanted}, not {given}", TypeError)
    for target, result in zip(outs, results, strict=True):
        if target.array.shape != result.array.shape and any(one is target for one in (*_tensors(args), *_tensors(rest.values()))):
            message = (
                f"output with shape {list(target.array.shape)} doesn't match the broadcast shape {list(result.array.shape)}"
            )
            raise fail("shape", message, tensor=target)
        _write(target, result, inputs)
    return named_result(f"{found.operation}_out", found.names, list(outs)) if isinstance(found, NamedResult) else out


def _shared_dtype(out: Tensor, dtype: object) -> DType:
    """Return the dtype in which a factory makes its values: that of `out`; raises RuntimeError where another is asked for."""
    kind, asked = of_numpy(out.array.dtype), as_dtype(dtype)
    if asked is not None and asked != kind:
        raise fail("dtype", f"dtype {asked.title} does not match dtype of out parameter ({kind.title})", tensor=out)
    return kind


def _tensors(values: Iterable[object]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [one for one in value if isinstance(one, Tensor)]
    return found


def _write(target: Tensor, result: Tensor, inputs: list[Any]) -> None:
    to, source = target.array, result.array
    if of_numpy(source.dtype).category > of_numpy(to.dtype).category:
        a, b = of_numpy(source.dtype).title, of_numpy(to.dtype).title
        raise fail("dtype", f"result type {a} can't be cast to the desired output type {b}", tensor=target)
    if to.shape != source.shape:
        if to.size:
            current().warning(
                f"An output with one or more elements was resized since it had shape {list(to.shape)}, which does not match the "
                f"required output shape {list(source.shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
                "will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
                "inplace, to zero elements with t.resize_(0)."
            )
        resize(target, source.shape)
    check_distinct(target.array)
    check_apart(target.array, inputs)
    announce_write(target)
    write(target.array, source)
    target.counter.bump(current().location())


def resize(tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Give a tensor another size over its memory, row by row from where it begins; over new memory where that is too small."""
    array = tensor.array
    owner = owner_of(array)
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    size = int(np.prod(shape, dtype=np.int64))
    if start + size * array.itemsize <= owner.nbytes:
        flat = np.ndarray((size,), array.dtype, owner, start) if owner.flags.c_contiguous else owner.reshape(-1).view(array.dtype)
        tensor.array = flat.reshape(shape)
        tensor.descriptor = None
        return
    check = current().check
    if check is not None:
        check(size * array.itemsize)
    first = start // array.itemsize
    larger = np.zeros(first + size, array.dtype)
    held = owner.nbytes // array.itemsize
    if held and owner.flags.c_contiguous:
        larger[:held] = np.ndarray((held,), array.dtype, owner)
    tensor.array = larger[first:].reshape(shape)
    tensor.descriptor = None
