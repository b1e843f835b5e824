"""torch.distributions.transforms: functions with an inverse and a known change of volume, element by element."""

import math
from collections.abc import Sequence
from typing import Any

from gradsh.api.distributions import constraints
from gradsh.api.distributions.distribution import broadcast_all
from gradsh.api.settings import finfo
from gradsh.engine.attribute_names import ScriptBase
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail


class Transform(ScriptBase):
    """Base of transforms: a class below it gives `_call`, `_inverse` and `log_abs_det_jacobian`."""

    domain: object = constraints.real
    codomain: object = constraints.real
    bijective = False
    sign: Any = 1

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise fail("value", "cache_size must be 0 or 1", ValueError)
        self._cache_size = cache_size
        self._pair: tuple[Any, Any] = (None, None)

    _parameters: tuple[str, ...] = ()
    """The attributes in which transforms of a class may differ."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(_same(getattr(self, name), getattr(other, name)) for name in self._parameters)

    __hash__ = ScriptBase.__hash__

    @property
    def inv(self) -> "Transform":
        """The inverse."""
        return Inverse(self)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the value at `x`."""
        kept, result = self._pair
        if kept is x and x is not None:
            return result
        return self._keep(x, self._call(x))[1]

    def inverse(self, y: Tensor) -> Tensor:
        """Return what is mapped to `y`; with a cache, the very tensor that was."""
        result, kept = self._pair
        if kept is y and y is not None:
            return result
        return self._keep(self._inverse(y), y)[0]

    def _keep(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        if self._cache_size:
            self._pair = (x, y)
        return x, y

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the log of how much volumes grow at `x`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _same(one: object, other: object) -> bool:
    found = one == other
    return bool(found.all()) if isinstance(found, Tensor) else bool(found)


class Inverse(Transform):
    """The inverse of a transform."""

    _parameters = ("_transform",)

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._transform = transform
        self.domain, self.codomain = transform.codomain, transform.domain
        self.bijective, self.sign = transform.bijective, transform.sign

    inv = property(lambda self: self._transform)

    def _call(self, x: Tensor) -> Tensor:
        return self._transform.inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._transform(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._transform.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._transform!r})"


class ExpTransform(Transform):
    """`y = exp(x)`."""

    codomain = constraints.positive
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class AbsTransform(Transform):
    """`y = |x|`, which has no inverse: that gives the value without a sign."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class PowerTransform(Transform):
    """`y = x ** exponent`."""

    _parameters = ("exponent",)
    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: object, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Any:
        """1 where the transform rises, -1 where it falls."""
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(Transform):
    """`y = 1 / (1 + exp(-x))`, kept away from 0 and 1."""

    codomain = constraints.unit_interval
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        limits = finfo(x.dtype)
        return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = finfo(y.dtype)
        kept = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return kept.log() - (-kept).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        softplus = find("softplus")
        return -softplus(-x) - softplus(x)


class TanhTransform(Transform):
    """`y = tanh(x)`."""

    codomain = constraints.interval(-1.0, 1.0)
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the log of how much volumes grow at `x`, in a form that is exact where tanh is flat."""
        return 2.0 * (math.log(2.0) - x - find("softplus")(-2.0 * x))


class SoftplusTransform(Transform):
    """`y = log(1 + exp(x))`."""

    codomain = constraints.positive
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        return find("softplus")(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -find("softplus")(-x)


class AffineTransform(Transform):
    """`y = loc + scale * x`."""

    _parameters = ("loc", "scale")
    bijective = True

    def __init__(self, loc: object, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self._axes = event_dim
        if event_dim:
            self.domain = self.codomain = constraints.independent(constraints.real, event_dim)

    @property
    def sign(self) -> Any:
        """1 where the transform rises, -1 where it falls."""
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale = self.scale
        found = scale.abs().log() if isinstance(scale, Tensor) else find("full_like")(x, math.log(abs(scale)))
        if self._axes:
            found = found.view((*found.shape[: -self._axes], -1)).sum(-1)
        return found.expand(x.shape[: len(x.shape) - self._axes])


class ComposeTransform(Transform):
    """Several transforms, one after the other."""

    _parameters = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = list(parts)
        self.bijective = all(part.bijective for part in self.parts)
        if self.parts:
            self.domain, self.codomain = self.parts[0].domain, self.parts[-1].codomain

    sign = property(lambda self: math.prod(part.sign for part in self.parts))
    inv = property(lambda self: ComposeTransform([part.inv for part in reversed(self.parts)]))

    def __call__(self, x: Tensor) -> Tensor:
        """Return the value at `x`."""
        for part in self.parts:
            x = part(x)
        return x

    def inverse(self, y: Tensor) -> Tensor:
        """Return what is mapped to `y`."""
        for part in reversed(self.parts):
            y = part.inverse(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found: Any = 0
        for part in self.parts:
            after = part(x)
            found = found + part.log_abs_det_jacobian(x, after)
            x = after
        return found

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


