"""The namespaces that scripts import: torch and what is under it. Each is an explicit table."""

import math
from typing import Any, Final

from gradsh.api.homes import file_of, home_of, settle
from gradsh.api.namespace import Lazy, Namespace, Switches, deprecated, lazily, lazy
from gradsh.engine import methods as _methods  # noqa: F401  (which Tensor gets)
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.engine.values import dtype as dtypes
from gradsh.engine.values.device import CPU, Device
from gradsh.engine.values.formats import MemoryFormat, TensorLayout, strided
from gradsh.engine.values.size import Size
from gradsh.version import PYTORCH_VERSION

_SETTINGS = "gradsh.api.settings"
for _kind in (Tensor, Parameter, Size, Device, TensorLayout, MemoryFormat, dtypes.DType, Handle):
    settle(_kind)
_NN_CLASSES = {
    "module": "Module",
    "linear": "Linear Bilinear Identity",
    "lazy": (
        "LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d "
        "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d"
    ),
    "container": "Sequential ModuleList ModuleDict ParameterList ParameterDict",
    "activation": (
        "ReLU Threshold RReLU Hardtanh ReLU6 Sigmoid Hardsigmoid Tanh SiLU Mish Hardswish ELU CELU SELU GLU GELU Hardshrink "
        "Softshrink LeakyReLU LogSigmoid Softplus Softsign Tanhshrink PReLU Softmax LogSoftmax Softmin Softmax2d"
    ),
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "flatten": "Flatten Unflatten",
    "sparse": "Embedding EmbeddingBag",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
    "loss": (
        "L1Loss MSELoss SmoothL1Loss HuberLoss NLLLoss CrossEntropyLoss BCELoss BCEWithLogitsLoss KLDivLoss PoissonNLLLoss "
        "GaussianNLLLoss HingeEmbeddingLoss SoftMarginLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss "
        "CosineEmbeddingLoss MarginRankingLoss TripletMarginLoss TripletMarginWithDistanceLoss CTCLoss LinearCrossEntropyLoss"
    ),
    "rnn": "RNNBase RNN LSTM GRU", "cells": "RNNCellBase RNNCell LSTMCell GRUCell",
    "pooling": (
        "MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d AvgPool1d AvgPool2d AvgPool3d LPPool1d LPPool2d "
        "LPPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d "
        "FractionalMaxPool2d FractionalMaxPool3d"
    ),
    "padding": " ".join(
        f"{mode}Pad{n}d" for mode in ("Constant", "Zero", "Reflection", "Replication", "Circular") for n in (1, 2, 3)
    ),
    "resize": (
        "Upsample UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle ChannelShuffle Fold Unfold "
        "PairwiseDistance CosineSimilarity"
    ),
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "normalization": "LayerNorm GroupNorm RMSNorm LocalResponseNorm",
    "attention": "MultiheadAttention",
    "transformer": (
        "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer"
    ),
}
"""PyTorch's modules by the file (of gradsh.api.nn) that holds them."""
_OPTIMIZERS = {
    "optimizer": "Optimizer", "sgd": "SGD", "adam": "Adam AdamW Adamax NAdam RAdam",
    "rms": "RMSprop Adagrad Adadelta Rprop ASGD", "lbfgs": "LBFGS",
}
_SCHEDULERS = {
    "scheduler_base": "LRScheduler _LRScheduler=LRScheduler EPOCH_DEPRECATION_WARNING",
    "schedulers": "LambdaLR MultiplicativeLR StepLR MultiStepLR ConstantLR LinearLR ExponentialLR PolynomialLR CosineAnnealingLR",
    "cycles": "CosineAnnealingWarmRestarts CyclicLR OneCycleLR",
    "combined": "SequentialLR ChainedScheduler ReduceLROnPlateau",
}
_DISTRIBUTIONS = {
    "distribution": "Distribution", "continuous": "Normal Uniform Exponential Independent",
    "discrete": "Categorical OneHotCategorical OneHotCategoricalStraightThrough Bernoulli Poisson",
    "gamma": "Gamma Dirichlet Beta Chi2 StudentT", "tails": "Cauchy Gumbel",
    "counts": "Geometric Binomial Multinomial NegativeBinomial", "halves": "HalfNormal HalfCauchy", "powers": "Pareto Weibull InverseGamma",
    "relaxed": "RelaxedBernoulli RelaxedOneHotCategorical",
    "multivariate": "MultivariateNormal", "mixture": "MixtureSameFamily",
    "transformed": "TransformedDistribution LogNormal Laplace", "kl": "kl_divergence register_kl",
}
_DATA_FILES = {
    "dataset": "Dataset TensorDataset ConcatDataset ChainDataset Subset random_split IterableDataset",
    "dataloader": "DataLoader default_collate get_worker_info Dataset IterableDataset Sampler SequentialSampler RandomSampler BatchSampler",
    "distributed": "DistributedSampler",
    "sampler": "Sampler SequentialSampler RandomSampler BatchSampler SubsetRandomSampler WeightedRandomSampler",
}
"""What the files of torch.utils.data hold."""
_INIT = (
    "calculate_gain uniform_ normal_ trunc_normal_ constant_ ones_ zeros_ eye_ dirac_ xavier_uniform_ xavier_normal_ "
    "kaiming_uniform_ kaiming_normal_ orthogonal_ sparse_ _calculate_fan_in_and_fan_out uniform normal constant eye dirac "
    "xavier_uniform xavier_normal kaiming_uniform kaiming_normal orthogonal sparse"
)


def _from_files(folder: str, files: dict[str, str]) -> dict[str, object]:
    table: dict[str, object] = {}
    for file, names in files.items():
        table.update(lazily(f"{folder}.{file}", names))
    return table

_AMP = "gradsh.api.amp"
_AUTOCAST = (
    "is_autocast_enabled set_autocast_enabled get_autocast_dtype set_autocast_dtype is_autocast_cache_enabled set_autocast_cache_enabled "
    "clear_autocast_cache is_autocast_cpu_enabled"
)


def _spaces(name: str) -> Lazy:
    return Lazy(lambda: NAMESPACES[name])


_TORCH: dict[str, object] = {
    **{each.name: each for each in (*dtypes.DTYPES, *dtypes.FOREIGN)},
    **dtypes.ALIASES,
    **lazily("gradsh.api.modes", "no_grad enable_grad set_grad_enabled inference_mode is_grad_enabled is_inference_mode_enabled"),
    **lazily(
        "gradsh.ops.layout",
        "contiguous_format preserve_format channels_last channels_last_3d",
    ),
    **lazily(
        "gradsh.ops.tensor_types", "FloatTensor DoubleTensor LongTensor IntTensor ShortTensor CharTensor ByteTensor BoolTensor",
    ),
    "default_generator": lazy("gradsh.ops.random", "default_generator"),
    **lazily(
        _SETTINGS,
        "is_storage typename _assert=check "
        "set_default_dtype get_default_dtype set_printoptions is_tensor is_floating_point is_complex numel promote_types "
        "result_type=result_type_of can_cast finfo iinfo set_num_threads get_num_threads "
        "set_num_interop_threads=ignore set_default_device get_default_device set_default_tensor_type get_num_interop_threads",
    ),
    **lazily(
        "gradsh.api.numeric_settings",
        "set_float32_matmul_precision get_float32_matmul_precision use_deterministic_algorithms are_deterministic_algorithms_enabled "
        "is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode get_deterministic_debug_mode",
    ),
    **lazily("gradsh.api.stand_ins", "save load compile"),
    **lazily(_AMP, f"autocast=Autocast {_AUTOCAST}"),
    "Tensor": Tensor,
    "Size": Size, "device": Device,
    "dtype": dtypes.DType,
    "pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None,
    **dict.fromkeys(("has_lapack", "has_mkl", "has_openmp", "has_spectral"), True),
    **{f"has_{part}": deprecated(f"has_{part}", f"torch.backends.{part}.{asked}", part == "mkldnn")
       for part, asked in (("mps", "is_built"), ("cuda", "is_built"), ("cudnn", "is_available"), ("mkldnn", "is_available"))},
    "strided": strided, "layout": TensorLayout, "memory_format": MemoryFormat,
    "__version__": lazy("gradsh.api.torch_version", "TORCH_VERSION"),
    "torch": _spaces("torch"),
    "vmap": lazy("gradsh.api.vmap", "vmap"),
    **lazily("gradsh.engine.dispatch.inference", "is_inference"),
    **lazily("gradsh.api.anomaly", "is_anomaly_enabled is_anomaly_check_nan_enabled"),
    "Generator": lazy("gradsh.ops.random", "Generator"),
}

_AUTOGRAD: dict[str, object] = {
    **lazily("gradsh.api.autograd", "backward grad Variable"),
    **lazily(
        "gradsh.api.modes",
        "no_grad enable_grad set_grad_enabled inference_mode set_multithreading_enabled is_multithreading_enabled=multithreading",
    ),
    **lazily("gradsh.api.internals", "_unsafe_preserve_version_counter"),
    "torch": _spaces("torch"),
    **lazily("gradsh.engine.dispatch.saved_hooks", "SavedTensor=RawSaved"),
    **lazily("gradsh.api.function", "Function"),
    **lazily("gradsh.api.gradcheck", "gradcheck gradgradcheck"),
    **lazily("gradsh.api.anomaly", "set_detect_anomaly detect_anomaly"),
}


def _shared(name: str) -> Lazy:
    return Lazy(lambda: NAMESPACES["torch"].get(name))


def _with_files(name: str, table: dict[str, object], files: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Return the tables of a namespace and of the files that PyTorch keeps its names in."""
    return {name: table} | {f"{name}.{file}": held for file, held in files.items()}


def _distributions() -> dict[str, dict[str, object]]:
    """Return torch.distributions and what PyTorch keeps under it: a file for each class."""
    table = _from_files("gradsh.api.distributions", _DISTRIBUTIONS)
    files: dict[str, dict[str, object]] = {}
    for name, entry in table.items():
        files.setdefault("kl" if name in _DISTRIBUTIONS["kl"].split() else file_of(name), {})[name] = entry
    files["constraints"] = lazily(
        "gradsh.api.distributions.constraints",
        "Constraint real boolean simplex positive nonnegative unit_interval real_vector greater_than greater_than_eq "
        "less_than interval half_open_interval integer_interval independent lower_cholesky positive_definite is_dependent",
    )
    transforms = (
        "Transform AbsTransform PowerTransform ExpTransform SigmoidTransform TanhTransform SoftplusTransform AffineTransform "
        "ComposeTransform"
    )
    files["transforms"] = lazily("gradsh.api.distributions.transforms", transforms)
    files["constraint_registry"] = lazily("gradsh.api.distributions.constraint_registry", "transform_to biject_to=transform_to")
    table |= files["transforms"] | files["constraint_registry"]
    return _with_files("torch.distributions", table, files)


def _modules() -> dict[str, dict[str, object]]:
    """Return torch.nn.modules and the files that PyTorch keeps its classes in."""
    files: dict[str, dict[str, object]] = {}
    for origin, names in ((f"gradsh.api.nn.{file}", names) for file, names in _NN_CLASSES.items()):
        for name, entry in lazily(origin, names).items():
            files.setdefault(str(home_of(origin, name)).rpartition(".")[2], {})[name] = entry
    files["batchnorm"] |= lazily("gradsh.api.nn.batchnorm", "_BatchNorm")
    files["utils"] = lazily("gradsh.api.nn.conversion", "_single _pair _triple _quadruple")
    return _with_files("torch.nn.modules", _from_files("gradsh.api.nn", _NN_CLASSES), files)


def _data() -> dict[str, dict[str, object]]:
    """Return torch.utils.data and the files that PyTorch keeps its classes in."""
    names = " ".join(dict.fromkeys(" ".join(_DATA_FILES.values()).split()))
    table = lazily("gradsh.api.data", names) | lazily("gradsh.api.shared_data", "DistributedSampler StackDataset default_convert")
    return _with_files("torch.utils.data", table, {
        file: {name: table[name] for name in held.split()} for file, held in _DATA_FILES.items()
    })


def _optimizers() -> dict[str, dict[str, object]]:
    """Return torch.optim and the files that PyTorch keeps its optimizers in."""
    table = _from_files("gradsh.api.optim", _OPTIMIZERS)
    files = {name.lower(): {name: entry} for name, entry in table.items()}
    files["optimizer"] |= lazily("gradsh.api.optim.optimizer", "required")
    table |= lazily("gradsh.api.optim.muon", "Muon") | lazily("gradsh.api.optim.adafactor", "Adafactor")
    return _with_files("torch.optim", table, files)


_RANDOM = {name: _shared(name) for name in ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state")}

_FUNCTIONAL = (
    "Tensor atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist einsum meshgrid "
    "norm split tensordot unique unique_consecutive"
)

_TABLES: dict[str, dict[str, object]] = {
    "torch": _TORCH,
    "torch.autograd": _AUTOGRAD,
    "torch.autograd.functional": lazily("gradsh.api.derivatives", "jacobian hessian vjp jvp vhp hvp _construct_standard_basis_for"),
    "torch.autograd.graph": lazily(
        "gradsh.api.saved",
        "saved_tensors_hooks save_on_cpu disable_saved_tensors_hooks allow_mutation_on_saved_tensors "
        "register_multi_grad_hook Node=AnyNode get_gradient_edge GradientEdge increment_version",
    ),
    "torch.autograd.function": lazily("gradsh.api.function", "Function once_differentiable InplaceFunction")
    | lazily("gradsh.api.function_context", "FunctionCtx BackwardCFunction"),
    "torch.autograd.gradcheck": lazily(
        "gradsh.api.gradcheck", "gradcheck gradgradcheck GradcheckError get_numerical_jacobian get_analytical_jacobian",
    ),
    "torch.autograd._functions": lazily("gradsh.api.old_functions", "Resize"),
    "torch._VF": {"unique_dim": lazy("gradsh.ops.unique", "unique_dim")},
    "torch._vmap_internals": lazily("gradsh.api.vmap", "vmap _vmap=vmap"),
    "torch.autograd.forward_ad": lazily(
        "gradsh.api.forward_ad", "UnpackedDualTensor dual_level enter_dual_level exit_dual_level make_dual unpack_dual "
        "_is_fwd_grad_enabled _set_fwd_grad_enabled _current_level",
    ),
    "torch.autograd.variable": lazily("gradsh.api.autograd", "Variable"),
    "torch.autograd.profiler": lazily("gradsh.api.stand_ins", "profile=autograd_profile record_function"),
    "torch.profiler": lazily(
        "gradsh.api.stand_ins",
        "profile record_function ProfilerActivity=NOTHING schedule=NOTHING tensorboard_trace_handler=NOTHING",
    ),
    "torch.ops": lazily("gradsh.ops.overload_names", "aten"),
    "torch._C": {
        **lazily("gradsh.api.internals", "_WeakTensorRef _current_graph_task_id _current_autograd_node _will_engine_execute_node "
                 "_current_graph_task_execution_order"),
        **lazily("gradsh.api.modes", "is_grad_enabled"), **lazily("gradsh.api.forward_ad", "_set_fwd_grad_enabled=set_forward_mode"),
    },
    "torch._C._autograd": {
        **lazily("gradsh.engine.dispatch.saved_hooks", "SavedTensor=RawSaved"),
        **lazily("gradsh.api.internals", "_saved_tensors_hooks_is_enabled _unsafe_set_version_counter _get_current_graph_task_keep_graph"),
    },
    "torch._C._functions": {
        **lazily("gradsh.api.internals", "DelayedError UndefinedGrad"), **lazily("gradsh.engine.graph.tensor", "AccumulateGrad"),
    },
    "torch.func": {
        **lazily("gradsh.api.func", "functional_call grad grad_and_value jacrev vjp stack_module_state"),
        **lazily("gradsh.api.vmap", "vmap"),
        **lazily("gradsh.api.func_forward", "jvp linearize jacfwd hessian"),
        **lazily("gradsh.api.rearrange", "rearrange"),
    },
    "torch.nn": {
        **_from_files("gradsh.api.nn", _NN_CLASSES),
        "Parameter": Parameter,
        **lazily("gradsh.api.nn.buffer", "Buffer=BufferMark"), **lazily("gradsh.api.nn.lazy", "UninitializedParameter"),
        **lazily("gradsh.api.stand_ins", "DataParallel"),
    },
    "torch.nn.parallel": lazily("gradsh.api.stand_ins", "DataParallel"),
    "torch.nn.functional": lazily("gradsh.api.functional", "gumbel_softmax"),
    "torch.nn.init": lazily("gradsh.api.nn.init", _INIT),
    "torch.nn.attention": lazily("gradsh.api.attention", "SDPBackend sdpa_kernel"),
    "torch.nn.utils": {
        **lazily(
            "gradsh.api.nn.utils.clip",
            "clip_grad_norm_ clip_grad_norm=clip_grad_norm_ clip_grad_value_ get_total_norm clip_grads_with_norm_ "
            "parameters_to_vector vector_to_parameters",
        ),
        **lazily("gradsh.api.nn.utils.norms", "weight_norm remove_weight_norm spectral_norm remove_spectral_norm"),
        **lazily("gradsh.api.nn.utils.skip", "skip_init"),
    },
    "torch.nn.utils.parametrize": lazily(
        "gradsh.api.nn.utils.parametrize",
        "register_parametrization is_parametrized remove_parametrizations cached ParametrizationList "
        "type_before_parametrizations",
    ),
    "torch.nn.utils.parametrizations": lazily("gradsh.api.nn.utils.parametrizations", "weight_norm spectral_norm orthogonal"),
    "torch.nn.utils.prune": lazily(
        "gradsh.api.nn.utils.prune",
        "BasePruningMethod PruningContainer Identity RandomUnstructured L1Unstructured RandomStructured LnStructured "
        "CustomFromMask identity random_unstructured l1_unstructured random_structured ln_structured global_unstructured "
        "custom_from_mask remove is_pruned",
    ),
    "torch.nn.utils.rnn": {
        **lazily("gradsh.api.nn.utils.sequences", "pad_sequence unpad_sequence"),
        **lazily(
            "gradsh.api.nn.utils.packed",
            "PackedSequence pack_padded_sequence pad_packed_sequence pack_sequence unpack_sequence",
        ),
    },
    "torch.nn.parameter": {
        "Parameter": Parameter, "Buffer": lazy("gradsh.api.nn.buffer", "BufferMark"),
        "UninitializedParameter": lazy("gradsh.api.nn.lazy", "UninitializedParameter"),
    },
    **_modules(),
    **_optimizers(),
    "torch.optim.lr_scheduler": _from_files("gradsh.api.optim", _SCHEDULERS),
    "torch.optim.swa_utils": lazily(
        "gradsh.api.optim.swa_utils",
        "AveragedModel SWALR update_bn get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn get_swa_multi_avg_fn",
    ),
    "torch.utils.tensorboard": lazily("gradsh.api.stand_ins", "SummaryWriter"),
    "torch.utils": {},
    "torch.utils._pytree": lazily(
        "gradsh.api.pytree",
        "TreeSpec tree_flatten tree_unflatten tree_leaves tree_structure tree_map tree_map_only tree_all tree_any",
    ),
    "torch.utils.checkpoint": lazily(
        "gradsh.api.checkpoint", "checkpoint checkpoint_sequential CheckpointError CheckpointFunction set_checkpoint_early_stop "
        "set_checkpoint_debug_enabled get_device_states set_device_states",
    )
    | lazily("gradsh.api.selective", "CheckpointPolicy SelectiveCheckpointContext create_selective_checkpoint_contexts"),
    **_data(),
    **_distributions(),
    "torch.random": {**_RANDOM, **lazily(_SETTINGS, "thread_safe_generator=none fork_rng")},
    "torch.functional": {"F": _spaces("torch.nn.functional"), **{name: _shared(name) for name in _FUNCTIONAL.split()}},
    "torch.special": {},
    "torch.linalg": lazily("gradsh.ops.kernels.lu", "LinAlgError=_LinAlgError"),
    "torch.cuda": {"_initialized": False}
    | lazily("gradsh.ops.tensor_types", "FloatTensor=CudaFloat DoubleTensor=CudaDouble LongTensor=CudaLong IntTensor=CudaInt "
             "ShortTensor=CudaShort CharTensor=CudaChar ByteTensor=CudaByte BoolTensor=CudaBool")
    | lazily("gradsh.api.stand_ins", "memory_allocated max_memory_allocated memory_reserved=memory_allocated "
             "max_memory_reserved=max_memory_allocated memory_stats memory_summary")
    | lazily(_SETTINGS, "is_available=cuda_is_available device_count synchronize=ignore empty_cache=ignore manual_seed=ignore "
             "manual_seed_all=ignore reset_peak_memory_stats=ignore ipc_collect=ignore is_initialized=cuda_is_available "
             "is_bf16_supported=cuda_is_available get_device_name=no_gpu get_device_properties=no_gpu current_device=no_gpu "
             "get_device_capability=no_gpu set_device mem_get_info=no_gpu current_stream=no_gpu "
             "reset_max_memory_allocated=ignore get_rng_state=no_gpu get_rng_state_all=none"),
    "torch.jit": {"Final": Final, **lazily(
        "gradsh.api.jit", "script trace ScriptModule annotate is_scripting is_tracing=is_scripting save=save_module load=load_module "
        "script_if_tracing=itself set_fusion_strategy freeze=itself optimize_for_inference=itself ignore=itself unused=itself "
        "export=itself script_method=itself",
    )},
    "torch.amp": lazily(_AMP, "autocast=Autocast GradScaler custom_fwd custom_bwd is_autocast_available"),
    "torch.cuda.amp": lazily(
        _AMP, "autocast=cuda_autocast GradScaler custom_fwd=cuda_custom_fwd custom_bwd=cuda_custom_bwd",
    ),
    "torch.cpu.amp": lazily(_AMP, "autocast=cpu_autocast GradScaler=CpuGradScaler"),
    "torch.backends": {},
    "torch.torch_version": lazily("gradsh.api.torch_version", "TorchVersion __version__=TORCH_VERSION"),
    "torch.version": {"__version__": f"{PYTORCH_VERSION}+cpu", "cuda": None, "hip": None},
    "torch.serialization": lazily(
        "gradsh.api.stand_ins", "save load add_safe_globals clear_safe_globals get_safe_globals safe_globals",
    ),
    "torch.accelerator": lazily(
        _SETTINGS, "is_available=cuda_is_available device_count current_accelerator=none synchronize=ignore device_index",
    ),
    "torch.distributed": lazily(
        _SETTINGS, "is_available=cuda_is_available is_initialized=cuda_is_available get_rank=no_group get_world_size=no_group",
    ),
    "torch.testing": lazily("gradsh.api.testing", "assert_close"),
    **{f"torch.{name}": lazily(
        _SETTINGS, "is_available=cuda_is_available device_count empty_cache=ignore manual_seed=ignore synchronize=ignore",
    ) for name in ("mps", "xpu", "mtia")},
    "torch.backends.cuda": lazily(
        _SETTINGS, "is_built=cuda_is_available enable_flash_sdp=ignore enable_mem_efficient_sdp=ignore enable_math_sdp=ignore "
        "enable_cudnn_sdp=ignore",
    ),
    "torch.backends.mps": lazily(_SETTINGS, "is_available=cuda_is_available is_built=cuda_is_available"),
}
"""What each namespace holds, by its name; the namespaces below it come to that."""
_THERE = lazily(_SETTINGS, "is_available=built_in")
_SWITCHES: dict[str, dict[str, object]] = {
    "torch.backends.cudnn": {
        "deterministic": False, "benchmark": False, "enabled": True, "allow_tf32": True,
        **lazily(_SETTINGS, "is_available=cuda_is_available version=none flags=cudnn_flags"),
    },
    "torch.backends.cuda.matmul": {"allow_tf32": False},
    "torch.backends.mkldnn": {"enabled": True, **_THERE}, "torch.backends.mkl": {**_THERE},
    "torch.backends.openmp": {**_THERE},
}
"""The namespaces whose names a session may set."""
_OPERATIONS = {"torch": "torch", "torch.nn.functional": "F", "torch.special": "special", "torch.linalg": "linalg"}
"""Namespace -> the space of the operations that it offers."""
_ON_IMPORT = frozenset({"torch.functional", "torch.utils.tensorboard"})
"""Namespaces that are there where they are imported, not as attributes of the one above."""

for _name in (*_TABLES, *_SWITCHES):
    _home, _, _own = _name.rpartition(".")
    if _home in _TABLES and _name not in _ON_IMPORT:
        _TABLES[_home].setdefault(_own, _spaces(_name))

NAMESPACES: dict[str, Namespace] = {
    **{name: Namespace(name, table, _OPERATIONS.get(name, "")) for name, table in _TABLES.items()},
    **{name: Switches(name, table) for name, table in _SWITCHES.items()},
}

for _file, _home, _names in (
    ("torch.autograd.grad_mode", "torch.autograd", "no_grad enable_grad set_grad_enabled inference_mode set_multithreading_enabled"),
    ("torch.autograd.anomaly_mode", "torch.autograd", "detect_anomaly set_detect_anomaly"),
    ("torch.nn.utils.clip_grad", "torch.nn.utils", "clip_grad_norm clip_grad_norm_ clip_grad_value_"),
    ("torch.nn.utils.convert_parameters", "torch.nn.utils", "parameters_to_vector vector_to_parameters"),
    ("torch.nn.utils.weight_norm", "torch.nn.utils", "weight_norm remove_weight_norm"),
    ("torch.nn.utils.spectral_norm", "torch.nn.utils", "spectral_norm remove_spectral_norm"),
    ("torch.amp.autocast_mode", "torch.amp", "autocast"), ("torch.amp.grad_scaler", "torch.amp", "GradScaler"),
    ("torch.cuda.amp.autocast_mode", "torch.cuda.amp", "autocast"),
    ("torch.nn.parallel.data_parallel", "torch.nn", "DataParallel"),
):
    NAMESPACES[_file] = NAMESPACES[_home].part(_file, _names)
"""Files that PyTorch keeps some of a namespace's names in."""

BARE = ("torch.nn.functional", "torch", "torch.nn", "torch.optim")
"""Where a bare name is looked up, after the program's names and Python's builtins."""


def namespace(name: str) -> Namespace | None:
    """Return the namespace called `name` (torch.nn.functional, …), or None."""
    return NAMESPACES.get(name)


def bare(name: str) -> Any:
    """Return what a name without a prefix stands for; raises KeyError."""
    for space in BARE:
        table = NAMESPACES[space]
        if name in table:
            return table.get(name)
    raise KeyError(name)


__all__ = ["BARE", "CPU", "NAMESPACES", "Device", "bare", "namespace"]
