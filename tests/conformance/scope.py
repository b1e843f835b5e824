"""What PyTorch's own examples and tests ask for that gradsh leaves out, and why: one table, read from their text."""

import re

OUT_OF_SCOPE = {
    "complex numbers": (
        r"complex\d|complex\(|_complex|complex_|\.complex|cdouble|cfloat|\bconj(?!unction)|\.imag\b|\.real\b|polar\(|is_neg|[0-9]j\b|"
        r"_neg_view|angle\("
    ),
    "other layouts": r"sparse|to_dense|to_mkldnn|nested_tensor|torch\.nested|jagged|_csr|_coo",
    "half precision and quantized numbers": r"quant|qint|quint|float16|\bhalf\b|float8|float4|uint16|uint32|uint64",
    "other devices": (
        r"cuda(?!\.is_available)|CUDA|\bmps\b|\bxpu\b|xla|'meta'|\"meta\"|pin_memory|set_default_device|deviceCountAtLeast|is_shared|"
        r"share_memory|_cached_tensor"
    ),
    "compiled code and traced graphs": (
        r"torch\.jit|torch\.compile|torch\._dynamo|torch\.fx|torch\.export|script_method|compiled_autograd|onnx|cpp_extension|"
        r"load_inline|region_activation_memory_budget"
    ),
    "dispatch below autograd": (
        r"torch\.library|TorchDispatch|__torch_dispatch__|__torch_function__|make_fx|LoggingTensor|-\w*logging_tensor|"
        r"_make_subclass|_make_wrapper|_dispatch|FakeTensor|LoggingMode|torch\.overrides|_nn\._test|_same_feature_meta"
    ),
    "profilers and processes": (
        r"profile|emit_nvtx|emit_itt|kineto|subprocess|multiprocess|torch\.distributed|DistributedDataParallel|record_function"
    ),
    "files": r"torch\.save\(|torch\.load\(|tempfile|from_file|\.pt\"|\.txt\"|load_state_dict_from_url|torch\.hub|dlpack",
    "names of dimensions": r"names=|align_to|align_as|rename\(|refine_names|\.names\b",
    "prune": r"\bprune\.",
    "LU and LDL": r"\blu_|\blu\(|ldl_",
    "Fourier transforms": r"\bfft|stft|_window\b",
    "checks against recorded files": r"assertExpected\(",
}
"""Reason to what shows it in a text. These are for `gradsh trace`, on PyTorch itself."""

UNWRITTEN = {"memory that nothing was written to": r"\bempty|new_empty|empty_like|\bresize_|skip_init"}
"""Of examples alone: what they show is not theirs."""


def left_out(text: str, *more: dict[str, str]) -> str | None:
    """Return the reason why a text is not measured, None where it is within reach."""
    code = re.sub(r"(?m)(^|\s)#.*$", "", text)  # a comment needs nothing
    reasons = {why: sign for table in (OUT_OF_SCOPE, *more) for why, sign in table.items()}
    return next((why for why, sign in reasons.items() if re.search(sign, code)), None)
