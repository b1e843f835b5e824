"""Losses as modules."""

import math
from typing import Any

from gradsh.api.nn.declared import Declared, functional, own, takes
from gradsh.api.nn.linear import Linear
from gradsh.api.nn.resize import PairwiseDistance
from gradsh.engine.ambient import current
from gradsh.engine.attribute_names import read, write
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.dtype import DType
from gradsh.text.fault import fail

_OLD = takes(size_average=None, reduce=None, reduction="mean")
_OLD_NAMES = ("size_average", "reduce")


def old_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction that the two old flags ask for, with PyTorch's warning."""
    average = size_average is None or size_average
    found = ("mean" if average else "sum") if reduce is None or reduce else "none"
    current().warning(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


class Loss(Declared):
    """A loss of two tensors. `_held` names the settings that are tensors of the module's state."""

    _held: tuple[str, ...] = ()
    _shown = ()

    def __init_subclass__(cls, **declared: Any) -> None:
        super().__init_subclass__(**declared)
        if "forward" not in cls.__dict__:
            own(cls, "forward")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super(Declared, self).__init__()
        values = self._bind(args, kwargs)
        average, reduce = values.pop("size_average", None), values.pop("reduce", None)
        if average is not None or reduce is not None:
            values["reduction"] = old_reduction(average, reduce)
        for name, value in values.items():
            if name in self._held:
                self.register_buffer(name, value)
            else:
                write(self, name, value)

    def passed(self) -> dict[str, object]:
        """Return the settings as keyword arguments of the operation."""
        return {name: read(self, name) for name in self._settings if name not in _OLD_NAMES}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """Return the loss."""
        return functional(self._function)(input, target, **self.passed())


class L1Loss(Loss, function="l1_loss", settings=_OLD):
    """|input - target|."""


class MSELoss(Loss, function="mse_loss", settings=_OLD):
    """(input - target)²."""


class SmoothL1Loss(Loss, function="smooth_l1_loss", settings=takes(**_OLD, beta=1.0)):
    """Squared near 0, absolute beyond beta."""


class HuberLoss(Loss, function="huber_loss", settings=takes(reduction="mean", delta=1.0)):
    """Squared near 0, absolute beyond delta."""


class NLLLoss(Loss, function="nll_loss"):
    """The negative log-probability of the target class."""

    _settings = takes(weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean")
    _held = ("weight",)


class CrossEntropyLoss(Loss, function="cross_entropy"):
    """nll_loss of log_softmax."""

    _settings = takes(
        weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
    )
    _held = ("weight",)


class LinearCrossEntropyLoss(Loss, function="linear_cross_entropy"):
    """cross_entropy of a linear map of the input, whose weight `linear` holds."""

    _settings = takes(reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0, options=None)
    _held = ("weight",)

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False, device: object = None,
        dtype: DType | None = None, weight: Tensor | None = None, label_smoothing: float = 0.0, **settings: object,
    ) -> None:
        message = ""
        if weight is not None and tuple(weight.shape) != (num_classes,):
            message = f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
        elif not 0 <= label_smoothing <= 1:
            message = f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
        if message:
            raise fail("value", message)
        super().__init__(weight=weight, label_smoothing=label_smoothing, **settings)
        self.num_classes, self.out_features = num_classes, out_features
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        """Return the loss; the linear map's weight and bias get the dims of the classes and of what is behind them."""
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        weight = self.linear.weight.reshape((*shape, self.linear.in_features))
        bias = None if bias is None else bias.reshape(shape)
        return functional(self._function)(input, weight, target, linear_bias=bias, **self.passed())

    def extra_repr(self) -> str:
        """Return the sizes and the settings."""
        shown = {
            "in_features": self.linear.in_features, "num_classes": self.num_classes, "out_features": self.out_features,
            "bias": self.linear.bias is not None, **{name: read(self, name) for name in self._settings if name != "weight"},
        }
        return ", ".join(f"{name}={value}" for name, value in shown.items())


class BCELoss(Loss, function="binary_cross_entropy", settings=takes(weight=None, **_OLD)):
    """Binary cross entropy of probabilities."""

    _held = ("weight",)


class BCEWithLogitsLoss(Loss, function="binary_cross_entropy_with_logits"):
    """Binary cross entropy of logits."""

    _settings = takes(weight=None, **_OLD, pos_weight=None)
    _held = ("weight", "pos_weight")


class KLDivLoss(Loss, function="kl_div", settings=takes(**_OLD, log_target=False)):
    """target * (log target - input)."""


class PoissonNLLLoss(Loss, function="poisson_nll_loss"):
    """Negative log-likelihood of a Poisson distribution."""

    _settings = takes(log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean")


class GaussianNLLLoss(Loss, function="gaussian_nll_loss"):
    """Negative log-likelihood of normal distributions."""

    _settings = takes(full=False, eps=1e-6, reduction="mean")

    def forward(self, input: Tensor, target: Tensor, var: object) -> Tensor:  # type: ignore[override]
        """Return the loss."""
        return functional(self._function)(input, target, var, **self.passed())


class HingeEmbeddingLoss(Loss, function="hinge_embedding_loss", settings=takes(margin=1.0, **_OLD)):
    """input where target is 1, max(0, margin - input) where it is -1."""


class SoftMarginLoss(Loss, function="soft_margin_loss", settings=_OLD):
    """log(1 + exp(-target * input))."""


class MultiLabelMarginLoss(Loss, function="multilabel_margin_loss", settings=_OLD):
    """Margins between the target classes and the others."""


class MultiLabelSoftMarginLoss(Loss, function="multilabel_soft_margin_loss"):
    """Binary cross entropy over classes."""

    _settings = takes(weight=None, **_OLD)
    _held = ("weight",)


class MultiMarginLoss(Loss, function="multi_margin_loss"):
    """Margins between the target class and the others."""

    _settings = takes(p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean")
    _held = ("weight",)


class _Paired(Loss):
    def forward(self, input1: Tensor, input2: Tensor, target: object) -> Tensor:  # type: ignore[override]
        """Return the loss."""
        return functional(self._function)(input1, input2, target, **self.passed())


class CosineEmbeddingLoss(_Paired, function="cosine_embedding_loss"):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""

    _settings = takes(margin=0.0, **_OLD)


class MarginRankingLoss(_Paired, function="margin_ranking_loss"):
    """max(0, -target * (input1 - input2) + margin)."""

    _settings = takes(margin=0.0, **_OLD)


class TripletMarginLoss(_Paired, function="triplet_margin_loss"):
    """max(0, distance to the positive - distance to the negative + margin)."""

    _settings = takes(margin=1.0, p=2.0, eps=1e-6, swap=False, **_OLD)


class TripletMarginWithDistanceLoss(_Paired, function="triplet_margin_with_distance_loss"):
    """TripletMarginLoss with a distance function of one's own (keyword arguments only)."""

    _settings = takes(distance_function=None, margin=1.0, swap=False, reduction="mean")

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)
        if kwargs.get("distance_function") is None:
            self.distance_function = PairwiseDistance()


class CTCLoss(Loss, function="ctc_loss"):
    """Connectionist temporal classification."""

    _settings = takes(blank=0, reduction="mean", zero_infinity=False)

    def forward(  # type: ignore[override]
        self, log_probs: Tensor, targets: Tensor, input_lengths: object, target_lengths: object
    ) -> Tensor:
        """Return the loss."""
        return functional(self._function)(log_probs, targets, input_lengths, target_lengths, **self.passed())
