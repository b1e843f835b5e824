"""Public names that PyTorch has and gradsh has not, so that a program which asks for one is told.

`hasattr` answers False for them, as it must, and a program would silently go another way than on PyTorch. So would one
that catches an error that PyTorch does not raise.
"""

from collections.abc import Callable
from typing import Any

from gradsh.engine.ambient import current
from gradsh.text.fault import fault_of

ONLY_PYTORCH: dict[str, frozenset[str]] = {
    space: frozenset(names.split())
    for space, names in {
        "torch": (
            "adaptive_max_pool1d alpha_dropout_ ao batch_norm binary_cross_entropy_with_logits "
            "compiler complex cond conj_physical_ conv_tbc cosine_embedding_loss cpu dequantize "
            "embedding_bag embedding_renorm_ empty_permuted empty_quantized export feature_alpha_dropout_ feature_dropout_ fft "
            "frobenius_norm from_dlpack from_file futures fx get_device "
            "get_device_module gru gru_cell "
            "hinge_embedding_loss hspmm hub imag instance_norm "
            "is_distributed is_vulkan_available istft kl_div library lobpcg lstm lstm_cell lu "
            "lu_solve lu_unpack margin_ranking_loss masked multiprocessing nested norm_except_dim "
            "nuclear_norm ormqr overrides package pca_lowrank poisson_nll_loss polar quantization quasirandom "
            "return_types saddmm segment_reduce set_flush_denormal set_warn_always signal slice_inverse smm sparse "
            "sparse_compressed_tensor stft storage svd_lowrank to_dlpack triplet_margin_loss types "
            "view_as_complex view_as_real while_loop"
        ),
        "torch.Tensor": (
            "apply_ as_subclass chalf coalesce col_indices crow_indices dense_dim dequantize dim_order "
            "imag index indices int_repr is_coalesced is_set_to "
            "istft lu lu_solve map2_ map_ name ormqr qscheme record_stream "
            "reinforce row_indices slice_inverse smm sparse_dim sparse_mask sparse_resize_ stft storage_type "
            "to_dense to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr "
            "values xpu"
        ),
        "torch.nn": (
            "AdaptiveLogSoftmaxWithLoss CrossMapLRN2d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d NLLLoss2d "
            "UninitializedBuffer common_types grad intrinsic qat "
            "quantizable quantized"
        ),
        "torch.nn.functional": (
            "conv_tbc grouped_mm multi_head_attention_forward "
            "scaled_mm"
        ),
        "torch.nn.utils": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fusion init memory_format stateless",
        "torch.backends": "cpu nnpack opt_einsum quantized",
        "torch.linalg": (
            "eig eigvals ldl_factor ldl_factor_ex ldl_solve lu lu_factor lu_factor_ex lu_solve"
        ),
        "torch.special": (
            "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t hermite_polynomial_h "
            "laguerre_polynomial_l legendre_polynomial_p modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 "
            "modified_bessel_k1 spherical_bessel_j0"
        ),
        "torch.optim": "SparseAdam",
        "torch.utils": (
            "backcompat bundled_inputs collect_env cpp_extension deterministic dlpack flop_counter hooks mkldnn "
            "mobile_optimizer model_zoo swap_tensors throughput_benchmark weak"
        ),
        "torch.utils.data": "IterDataPipe MapDataPipe",
        "torch.cuda": (
            "CUDAGraph Event ExternalStream Stream StreamContext caching_allocator_alloc current_blas_handle default_stream device "
            "device_of get_arch_list graph graphs init initial_seed list_gpu_processes make_graphed_callables memory memory_snapshot "
            "nccl nvtx profiler random seed seed_all set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream "
            "set_sync_debug_mode sparse stream streams temperature utilization"
        ),
        "torch.distributions": (
            "ContinuousBernoulli FisherSnedecor Kumaraswamy "
            "LKJCholesky LogisticNormal LowRankMultivariateNormal "
            "SoftmaxTransform StickBreakingTransform "
            "VonMises Wishart"
        ),
    }.items()
}
"""Namespace (and `torch.Tensor`) -> the names that PyTorch 2.13 has there."""


def only_pytorch_has(space: str, name: str) -> bool:
    """Tell whether PyTorch has the name in a namespace, and gradsh has not."""
    return name in ONLY_PYTORCH.get(space, ())


_OTHER_WAY = "so that the program may go another way there (`gradsh trace FILE`)"


def tell_absent(space: str, name: Any) -> None:
    """Warn of a name that PyTorch has: the program takes another way here than there."""
    if only_pytorch_has(space, name):
        full = f"{space}.{name}"
        current().warn_once(full, f"{full} is not here, but PyTorch has it, {_OTHER_WAY}")


def tell_caught(error: BaseException | None, space_of: Callable[[object], str]) -> None:
    """Warn of an error that the program catches, if it says what gradsh has not and PyTorch has."""
    fault = None if error is None else fault_of(error)
    if fault is None:
        return
    owner = fault.fields.get("owner", fault.fields.get("namespace"))
    if fault.kind == "attribute" and owner is not None:
        tell_absent(space_of(owner), fault.fields.get("name"))
    elif "gradsh trace" in str(fault.fields.get("way")) and not isinstance(error, (EOFError, OSError)):
        current().warn_once(str(error), f"{error}; PyTorch does not refuse it, {_OTHER_WAY}")
