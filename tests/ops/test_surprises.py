"""What surprises about PyTorch's graphs (the opening of the recorded saved tensors) is told by `help`."""

import pytest

from gradsh.engine.registry import lookup

TOLD = {
    "mul": "0-d float64 or int64", "div": "whichever", "pow": "powers 0 and 1", "maximum": "Both", "minimum": "Both", "fmax": "Both",
    "fmin": "Both", "atan2": "Both", "logaddexp": "Both", "hypot": "result", "mse_loss": "both", "smooth_l1_loss": "both",
    "huber_loss": "both", "binary_cross_entropy": "both", "conv2d": "input and weight", "layer_norm": "bias",
    "batch_norm": "running moments",
    "avg_pool2d": "whole input", "max_pool2d": "int64 indices", "gather": "only its shape", "take": "only its shape",
    "masked_select": "only its shape", "nansum": "nan", "pad": "save the input", "index_select": "sizes", "index_add": "source",
    "index_copy": "source", "amax": "share", "max": "share", "prod": "result", "median": "result", "std": "only self",
    "logsumexp": "result", "cumprod": "result", "det": "pivots", "linalg_solve": "LU", "inverse": "only its result", "dropout": "1-p",
    "cross_entropy": "LogSoftmax", "nll_loss": "does not use", "reciprocal": "1 / x", "softsign": "three nodes", "l1_loss": "no node",
    "normalize": "no node", "einsum": "no node", "kron": "no node", "bilinear": "no node", "outer": "no node",
    "scaled_dot_product_attention": "logsumexp", "abs": "clones", "leaky_relu_": "LeakyReluBackward1", "elu_": "EluBackward1",
    "sign": "zeros", "floor": "zeros", "addmm": "nothing", "linear": "TBackward0", "matmul": "which factor", "t": "PermuteBackward0",
    "index": "two Select nodes", "copy_": "CopySlices", "reshape": "UnsafeViewBackward0", "contiguous": "same object", "to": "same",
    "positive": "same object", "detach": "version counter", "chunk": "SplitBackward0", "tensor_split": "SliceBackward0",
    "split": "modified in place", "unbind": "modified in place", "floor_divide": "no derivative", "svd": "signs",
    "linalg_eigh": "signs", "sort": "processor",
}


@pytest.mark.parametrize("name", TOLD)
def test_a_surprise_is_told(name):
    operations = [found for found in (lookup(f"F_{name}"), lookup(name)) if found is not None]
    told = " ".join(f"{record.doc} {record.note}" for operation in operations for record in operation.records)
    assert TOLD[name] in told
