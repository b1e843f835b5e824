"""Where PyTorch keeps its classes: the module that a class names when it is printed (`<class 'torch.nn.modules.linear.Linear'>`)."""

_FILES = {
    "gradsh.api.modes": "torch.autograd.grad_mode", "gradsh.api.anomaly": "torch.autograd.anomaly_mode",
    "gradsh.api.function": "torch.autograd.function", "gradsh.api.autograd": "torch.autograd.variable",
    "gradsh.api.saved": "torch.autograd.graph", "gradsh.engine.graph.gradient_edge": "torch.autograd.graph",
    "gradsh.api.forward_ad": "torch.autograd.forward_ad", "gradsh.api.checkpoint": "torch.utils.checkpoint",
    "gradsh.api.function_context": "torch.autograd.function", "gradsh.api.selective": "torch.utils.checkpoint",
    "gradsh.api.old_functions": "torch.autograd._functions.tensor",
    "gradsh.api.einops": "einops", "gradsh.api.einops_layers": "einops.layers.torch",
    "gradsh.api.settings": "torch", "gradsh.ops.random": "torch._C", "gradsh.engine.graph.tensor": "torch",
    "gradsh.engine.values.size": "torch", "gradsh.engine.values.device": "torch",
    "gradsh.engine.values.dtype": "torch", "gradsh.engine.values.formats": "torch", "gradsh.api.torch_version": "torch.torch_version",
    "gradsh.engine.graph.node": "torch.autograd.graph",
    "gradsh.api.nn.attention": "torch.nn.modules.activation", "gradsh.api.nn.cells": "torch.nn.modules.rnn",
    "gradsh.api.optim.swa_utils": "torch.optim.swa_utils",
    **{f"gradsh.api.optim.{file}": "torch.optim.lr_scheduler" for file in (
        "scheduler_base", "schedulers", "cycles", "combined",
    )},
}
"""Files of gradsh's whose classes stand together in PyTorch, under another name."""
_CLASSES = {
    **dict.fromkeys(("Parameter", "BufferMark", "UninitializedParameter"), "torch.nn.parameter"),
    "LazyLinear": "torch.nn.modules.linear",
    **{f"LazyConv{kind}{n}d": "torch.nn.modules.conv" for kind in ("", "Transpose") for n in (1, 2, 3)},
    **{f"LazyBatchNorm{n}d": "torch.nn.modules.batchnorm" for n in (1, 2, 3)},
    "Handle": "torch.utils.hooks", "ChannelShuffle": "torch.nn.modules.channelshuffle",
    **dict.fromkeys(("Fold", "Unfold"), "torch.nn.modules.fold"),
    **dict.fromkeys(("CosineSimilarity", "PairwiseDistance"), "torch.nn.modules.distance"),
    **dict.fromkeys(("PixelShuffle", "PixelUnshuffle"), "torch.nn.modules.pixelshuffle"),
    **dict.fromkeys(("Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"), "torch.nn.modules.upsampling"),
    **dict.fromkeys(
        ("BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler"),
        "torch.utils.data.sampler",
    ),
    **dict.fromkeys(
        ("Dataset", "IterableDataset", "TensorDataset", "ConcatDataset", "ChainDataset", "StackDataset", "Subset"),
        "torch.utils.data.dataset",
    ), "DistributedSampler": "torch.utils.data.distributed",
    "PackedSequence": "torch.nn.utils.rnn", "Adafactor": "torch.optim", "Muon": "torch.optim", "device_index": "torch.accelerator",
    "DataLoader": "torch.utils.data.dataloader", "Autocast": "torch.amp.autocast_mode", "GradScaler": "torch.amp.grad_scaler",
    "DataParallel": "torch.nn.parallel.data_parallel", "ScriptModule": "torch.jit._script",
    "CpuGradScaler": "torch.cpu.amp.grad_scaler", "SummaryWriter": "torch.utils.tensorboard.writer",
}
"""Classes that have a file of their own in PyTorch."""
_NAMES = {
    "Autocast": "autocast", "CpuGradScaler": "GradScaler",
    "DType": "dtype", "Device": "device", "TensorLayout": "layout", "MemoryFormat": "memory_format",
    "Handle": "RemovableHandle", "BufferMark": "Buffer", "AnyNode": "Node",
}


_DISTRIBUTION_FILES = {
    "RelaxedOneHotCategorical": "relaxed_categorical", "ExpRelaxedCategorical": "relaxed_categorical", "StudentT": "studentT",
    "LogitRelaxedBernoulli": "relaxed_bernoulli", "OneHotCategoricalStraightThrough": "one_hot_categorical",
}


def file_of(name: str) -> str:
    """Return the file in which PyTorch keeps a distribution: `mixture_same_family` for MixtureSameFamily."""
    return _DISTRIBUTION_FILES.get(name) or "".join(f"_{one.lower()}" if one.isupper() else one for one in name).lstrip("_")


def home_of(origin: str, name: str) -> str | None:
    """Return where PyTorch keeps a class that is called `name` in the file `origin` of gradsh's; None for no place of its own."""
    home = _CLASSES.get(name) or _FILES.get(origin)
    if home is not None:
        return home
    if origin.startswith("gradsh.api.nn.utils."):
        return origin.replace("gradsh.api", "torch")
    if origin.startswith("gradsh.api.nn."):
        return origin.replace("gradsh.api.nn", "torch.nn.modules")
    if origin.startswith("gradsh.api.optim."):
        return f"torch.optim.{name.lower()}"
    if origin.startswith("gradsh.api.distributions."):
        shared = origin.rpartition(".")[2]
        return f"torch.distributions.{shared if shared in ('constraints', 'transforms') else file_of(name)}"
    return None


def settle(kind: type) -> None:
    """Let a class of gradsh's say that it is at home where PyTorch keeps it; any other class is left alone."""
    home = home_of(kind.__module__, kind.__name__) if kind.__module__.startswith("gradsh.") else None
    if home is not None:
        kind.__module__ = home
        kind.__name__ = kind.__qualname__ = _NAMES.get(kind.__name__, kind.__name__)
