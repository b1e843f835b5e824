"""Autocast: operations that convert what they are given to a lower precision, or back to float32, before they run.

While it is on, every operation takes the general way, which asks here (`run_record`). The lists are PyTorch's for the CPU.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradsh.engine.ambient import AUTOCAST, current
from gradsh.engine.dispatch.saved_hooks import watching
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.engine.schema.overload import Overload
from gradsh.engine.values.dtype import of_numpy
from gradsh.engine.values.reduced import BFLOAT16, SINGLE

_LOWER_NAMES = (
    "addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linalg_vecdot linear matmul "
    "mkldnn_rnn_layer mm prelu scaled_dot_product_attention"
)
_LOWER = frozenset(_LOWER_NAMES.split())
"""Operations that run in the lower precision."""
_SINGLE_NAMES = (
    "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist cholesky "
    "cholesky_inverse cholesky_solve cosine_embedding_loss cross_entropy ctc_loss fractional_max_pool2d fractional_max_pool3d geqrf "
    "grid_sample grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg_cholesky "
    "linalg_cholesky_ex linalg_cond linalg_eigh linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq "
    "linalg_matrix_rank linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve margin_ranking_loss "
    "max_pool3d max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss nanquantile nll_loss orgqr pinverse "
    "poisson_nll_loss prod qr quantile reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d "
    "smooth_l1_loss soft_margin_loss svd trace triangular_solve triplet_margin_loss"
)
_SINGLE = frozenset(_SINGLE_NAMES.split())
"""Operations that run in float32."""
_WIDEST = frozenset({"cat", "index_copy", "stack"})
"""Operations that run in the widest dtype among what they are given."""


class AutocastState:
    """Whether autocast is on in a thread, its lower precision, and the conversions of leaves that it keeps until it ends."""

    __slots__ = ("cache", "cache_enabled", "dtype", "enabled", "nesting")

    def __init__(self) -> None:
        self.enabled = False
        self.dtype: Any = BFLOAT16
        self.cache_enabled = True
        self.nesting = 0
        self.cache: dict[int, tuple[Tensor, Tensor]] = {}

    def switch(self, enabled: bool) -> None:
        """Turn it on or off."""
        self.enabled = enabled
        watching(AUTOCAST, enabled)

    @contextmanager
    def off(self) -> Iterator[None]:
        """Turn it off for a while."""
        self.switch(False)
        try:
            yield
        finally:
            self.switch(True)

    def converted(self, record: Overload, values: list[Any]) -> list[Any] | None:
        """Return what an operation runs on, None where autocast is off or leaves it alone."""
        if not self.enabled:
            return None
        name = record.name.removeprefix("F_")
        if name in _LOWER:
            dtype = self.dtype
        elif name in _SINGLE:
            dtype = SINGLE
        elif name in _WIDEST:
            given = [one for value in values for one in (value if type(value) is list else (value,))]
            dtype = SINGLE if any(_is_eligible(one) and one.array.dtype == SINGLE for one in given) else self.dtype
        else:
            return None
        return [
            [self._cast(one, dtype) for one in value] if type(value) is list else self._cast(value, dtype) for value in values
        ]

    def _cast(self, value: Any, dtype: Any) -> Any:
        """Return a tensor in a dtype; what was made of a leaf is kept, so that all operations on it share one node."""
        if not _is_eligible(value) or value.array.dtype == dtype:
            return value
        lasting = dtype == self.dtype and value.array.dtype == SINGLE and value.requires_grad and value.is_leaf and value._base is None
        if not (lasting and self.cache_enabled):
            return find("to")(value, of_numpy(dtype))
        found = self.cache.get(id(value))
        if found is None:
            found = self.cache[id(value)] = value, find("to")(value, of_numpy(dtype))
        return found[1]


def _is_eligible(value: Any) -> bool:
    return isinstance(value, Tensor) and value.array.dtype.kind == "f" and value.array.dtype != np.float64


def autocast_state() -> AutocastState:
    """Return the state of the thread."""
    flags = current().flags
    found = flags.get(AUTOCAST)
    if found is None:
        found = flags[AUTOCAST] = AutocastState()
    return found
