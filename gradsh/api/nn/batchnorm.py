"""Batch and instance normalisation: statistics over a batch, kept as running averages."""


import numpy as np

from gradsh.api.nn import init
from gradsh.api.nn.conversion import blank, constant, factory
from gradsh.api.nn.declared import functional
from gradsh.api.nn.module import Module
from gradsh.engine.graph.tensor import Tensor, make, written
from gradsh.text.fault import fail


class NormBase(Module):
    """What batch and instance normalisation share: scale, shift and running statistics."""

    dims: tuple[int, ...] = ()

    def __init_subclass__(cls, dims: tuple[int, ...] = ()) -> None:
        super().__init_subclass__()
        cls.dims = dims or cls.dims

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: object = None, dtype: object = None, *, bias: bool = True,
    ) -> None:
        super().__init__()
        kind = factory(device, dtype)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", blank((num_features,), kind) if affine else None)
        self.register_parameter("bias", blank((num_features,), kind) if affine and bias else None)
        self.register_buffer("running_mean", constant((num_features,), 0, kind) if track_running_stats else None)
        self.register_buffer("running_var", constant((num_features,), 1, kind) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", make(np.zeros((), np.int64)) if track_running_stats else None)
        self.reset_parameters()

    def _complete(self, state: dict[str, object], prefix: str) -> None:
        """Take the count of batches as it is where a dictionary does not tell it."""
        if self.track_running_stats:
            state.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)

    def reset_running_stats(self) -> None:
        """Set the running statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Set the scale to 1, the shift to 0, and the running statistics back."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if self.dims and input.ndim not in self.dims:
            expected = " or ".join(f"{n}D" for n in self.dims)
            raise fail("shape", f"expected {expected} input (got {input.ndim}D input)", ValueError, tensor=input)

    def extra_repr(self) -> str:
        """Return the settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(NormBase):
    def forward(self, input: Tensor) -> Tensor:
        """Normalise over the batch in training, by the running statistics in evaluation."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            count = self.num_batches_tracked
            count.array += 1
            written(count)
            if self.momentum is None:
                factor = 1.0 / float(count.array)
        tracked = not self.training or self.track_running_stats
        mean = self.running_mean if tracked else None
        var = self.running_var if tracked else None
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        return functional("batch_norm")(
            input, mean, var, weight=self.weight, bias=self.bias, training=by_batch, momentum=factor, eps=self.eps
        )


class BatchNorm1d(_BatchNorm, dims=(2, 3)):
    """Batch normalisation of (N, C) or (N, C, L)."""


class BatchNorm2d(_BatchNorm, dims=(4,)):
    """Batch normalisation of (N, C, H, W)."""


class BatchNorm3d(_BatchNorm, dims=(5,)):
    """Batch normalisation of (N, C, D, H, W)."""


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of (N, C, …) over all processes of a group: here there is one, which normalises its own batch."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: object = None, device: object = None, dtype: object = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise fail("shape", f"expected at least 2D input (got {input.ndim}D input)", ValueError, tensor=input)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: object = None) -> Module:
        """Return the module with a layer of this class, over the same parameters, in place of each of its batch normalisations."""
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
        for name, child in module._modules.items():
            made.add_module(name, None if child is None else cls.convert_sync_batchnorm(child, process_group))
        return made
