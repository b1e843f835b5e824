"""Instance normalisation: each channel of each sample by its own statistics."""

from gradsh.api.nn.batchnorm import NormBase
from gradsh.api.nn.declared import functional
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class _InstanceNorm(NormBase):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: object = None, dtype: object = None, *, bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel of each sample; a sample without a batch dimension is taken as a batch of one."""
        self._check_input_dim(input)
        alone = input.ndim == self.dims[0]
        channels = input.shape[0 if alone else 1]
        if channels != self.num_features and self.affine:
            message = (
                f"expected input's size at dim={0 if alone else 1} to match num_features ({self.num_features}), but got: "
                f"{channels}."
            )
            raise fail("shape", message, ValueError, tensor=input)
        found = functional("instance_norm")(
            input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps,
        )
        return found.squeeze(0) if alone else found


class InstanceNorm1d(_InstanceNorm, dims=(2, 3)):
    """Instance normalisation of (N, C, L)."""


class InstanceNorm2d(_InstanceNorm, dims=(3, 4)):
    """Instance normalisation of (N, C, H, W)."""


class InstanceNorm3d(_InstanceNorm, dims=(4, 5)):
    """Instance normalisation of (N, C, D, H, W)."""
