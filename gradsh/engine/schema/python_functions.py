"""Which functions PyTorch writes in Python: their calls are spelt, and refused, as Python does it.

Most of `torch.nn.functional` is Python, a part of it and nearly all of `torch` is not.
"""

_COMPILED = frozenset({
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "celu_", "channel_shuffle", "conv1d",
    "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "elu_", "gelu",
    "hardshrink", "hardtanh_", "leaky_relu_", "linear", "logsigmoid", "one_hot", "pairwise_distance", "pdist", "pixel_shuffle",
    "pixel_unshuffle", "prelu", "relu_", "rrelu_", "scaled_dot_product_attention", "selu_", "softplus", "softshrink",
    "threshold_",
})
"""Functions of `torch.nn.functional` that are not Python's."""
_PYTHON = frozenset({
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul",
    "einsum", "meshgrid", "norm", "split", "stft", "tensordot", "unique", "unique_consecutive", "unravel_index",
})
"""Functions of `torch` that are Python's."""
_PYTHON_METHODS = frozenset({
    "backward", "is_shared", "register_hook", "register_post_accumulate_grad_hook", "share_memory_", "storage", "unflatten",
    *_PYTHON,
})
"""Methods of tensors that are Python's."""


def is_python_method(name: str) -> bool:
    """Whether PyTorch writes a tensor's method in Python."""
    return name in _PYTHON_METHODS


def is_python(name: str, spaces: tuple[str, ...]) -> bool:
    """Whether PyTorch writes a function in Python."""
    if "torch" in spaces:
        return name in _PYTHON
    return "F" in spaces and name.removeprefix("F_") not in _COMPILED
