"""Random tensors, bit for bit PyTorch's: fillers, samplers, dropout, and the generator as scripts see it."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradsh.engine.ambient import current
from gradsh.engine.autograd.gradient_versions import writes
from gradsh.engine.dispatch.declare import composite, op
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import find
from gradsh.engine.rng import generator as streams
from gradsh.engine.values.device import CPU, Device, check_device
from gradsh.engine.values.dtype import Array, NumpyDType, of_numpy
from gradsh.engine.values.reduced import in_dtype
from gradsh.ops.arguments import zeros, zeros_of_shape
from gradsh.ops.create import LIKE, TORCH, alike, check_bytes, factory, finished
from gradsh.ops.kernels.geometry import array_of, memory_order
from gradsh.text.fault import fail


class Generator:
    """A stream of random numbers, as `torch.Generator()` makes one."""

    __slots__ = ("_stream",)
    __script_silent__ = True
    __script_attributes__ = frozenset({"manual_seed", "seed", "initial_seed", "get_state", "set_state", "device", "clone_state"})

    def __init__(self, device: object = None) -> None:
        check_device(device)
        self._stream: streams.Generator | None = streams.Generator()

    @classmethod
    def over(cls, stream: streams.Generator) -> "Generator":
        """Return the script's view of an engine's generator."""
        found = object.__new__(cls)
        found._stream = stream
        return found

    @property
    def stream(self) -> streams.Generator:
        """The engine's generator behind this one."""
        return current().generator if self._stream is None else self._stream

    @property
    def device(self) -> Device:
        """The CPU."""
        return CPU

    def manual_seed(self, seed: int) -> "Generator":
        """Start the stream of a seed and return the generator."""
        self.stream.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Start the stream of a seed from the operating system and return that seed."""
        return self.stream.seed()

    def initial_seed(self) -> int:
        """Return the seed of the stream."""
        return self.stream.initial_seed()

    def get_state(self) -> Tensor:
        """Return the state as a tensor of bytes."""
        return make(self.stream.get_state())

    def set_state(self, state: Tensor) -> "Generator":
        """Go on from a state that `get_state` returned."""
        self.stream.set_state(array_of(state))
        return self

    def clone_state(self) -> "Generator":
        """Return another generator that goes on with the same numbers."""
        return Generator.over(self.stream.clone())

    def __deepcopy__(self, _: object) -> "Generator":
        return self.clone_state()

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


class DefaultGenerator(Generator):
    """The generator of the session that runs, `torch.default_generator`."""

    __slots__ = ()

    def __init__(self) -> None:
        self._stream = None


default_generator = DefaultGenerator()


def stream_of(generator: Generator | None) -> streams.Generator:
    """Return the engine's generator behind an argument `generator` (None: the default one)."""
    if generator is None:
        return current().generator
    if isinstance(generator, Generator):
        return generator.stream
    name = type(generator).__name__
    raise fail("type", f"argument 'generator' must be torch.Generator, not {name}", TypeError)


def _manual_seed(seed: int) -> Generator:
    return default_generator.manual_seed(int(seed.item() if isinstance(seed, Tensor) else seed))


composite("manual_seed(seed: any)", "Start the stream of a seed; returns the default generator.", _manual_seed, TORCH)
composite("seed()", "Start the stream of a seed from the operating system and return that seed.", lambda: current().generator.seed(), TORCH)
composite("initial_seed()", "The seed of the default generator.", lambda: current().generator.initial_seed(), TORCH)
composite("get_rng_state()", "The state of the default generator, as a tensor of bytes.",
    lambda: make(current().generator.get_state()), TORCH)


def _set_rng_state(new_state: Tensor) -> None:
    current().generator.set_state(array_of(new_state))


composite("set_rng_state(new_state)", "Go on from a state that get_rng_state returned.", _set_rng_state, TORCH)


# --- fillers: x.uniform_() and its like -------------------------------------------------------------------------


def in_memory_order(like: Array, draw: Callable[[tuple[int, ...], bool], Array]) -> Array:
    """Return drawn numbers of the shape of `like`, in the order of its memory; `draw(shape, contiguous)` makes them."""
    if like.flags.c_contiguous:
        return draw(like.shape, True)
    order = memory_order(like)
    drawn = draw(tuple(like.shape[dim] for dim in order), False)
    back = [0] * like.ndim
    for place, dim in enumerate(order):
        back[dim] = place
    return drawn.transpose(back)


def _filler(text: str, node: str, doc: str, draw: Callable[..., Any], spaces: tuple[str, ...] = ("Tensor",)) -> None:
    """Declare an in-place filler: `draw(stream, shape, dtype, contiguous, *arguments)` makes the numbers."""

    def forward(self: Array, *given: Any) -> Array:
        *arguments, generator = given
        stream = stream_of(generator)
        return in_memory_order(self, lambda shape, flat: draw(stream, shape, self.dtype, flat, *arguments))

    own = "own" if text.startswith(("normal_", "random_")) else ""  # whose draws depend on the dtype
    op(text, node, doc, forward=forward, kind="inplace", spaces=spaces, attributes=(), grads={"self": zeros}, reduced=own)


_filler(
    "uniform_(self, from: float = 0.0, to: float = 1.0, *, generator: any? = None)", "UniformBackward0",
    "Fill with numbers uniform in [from, to).",
    lambda stream, shape, dtype, flat, low, high: stream.uniform(shape, low, high, dtype),
)
_filler(
    "normal_(self, mean: float = 0.0, std: float = 1.0, *, generator: any? = None)", "NormalBackward0",
    "Fill with normal numbers.",
    lambda stream, shape, dtype, flat, mean, std: stream.normal(shape, mean, std, dtype, flat),
)
_filler(
    "exponential_(self, lambd: float = 1.0, *, generator: any? = None)", "ExponentialBackward0", "Fill with exponential numbers.",
    lambda stream, shape, dtype, flat, lambd: stream.exponential(shape, lambd, dtype),
)
_filler(
    "log_normal_(self, mean: float = 1.0, std: float = 2.0, *, generator: any? = None)", "LogNormalBackward0",
    "Fill with exponentials of normal numbers.",
    lambda stream, shape, dtype, flat, mean, std: stream.log_normal(shape, mean, std, dtype),
)
_filler(
    "cauchy_(self, median: float = 0.0, sigma: float = 1.0, *, generator: any? = None)", "CauchyBackward0", "Fill with Cauchy numbers.",
    lambda stream, shape, dtype, flat, median, sigma: stream.cauchy(shape, median, sigma, dtype),
)
_filler(
    "geometric_(self, p: float, *, generator: any? = None)", "GeometricBackward0", "Fill with numbers of trials up to the first success.",
    lambda stream, shape, dtype, flat, p: stream.geometric(shape, p, dtype),
)
_filler(
    "random_(self, *, generator: any? = None)", "RandomBackward2", "Fill with whole numbers over the range of the dtype.",
    lambda stream, shape, dtype, flat: stream.random_full(shape, dtype),
)
_filler(
    "random_(self, to: int, *, generator: any? = None)", "RandomBackward1", "Fill with whole numbers below `to`.",
    lambda stream, shape, dtype, flat, to: stream.randint(0, to, shape, dtype),
)
_filler(
    "random_(self, from: int, to: int?, *, generator: any? = None)", "RandomBackward0", "Fill with whole numbers in from … to-1.",
    lambda stream, shape, dtype, flat, low, to: stream.randint(low, to, shape, dtype),
)


# --- Bernoulli --------------------------------------------------------------------------------------------------


def _bernoulli_by(self: Array, p: Array, generator: Any) -> Array:
    chances = np.broadcast_to(p, self.shape) if p.shape != self.shape else p
    return stream_of(generator).bernoulli_of(np.ascontiguousarray(chances).reshape(self.shape), self.dtype)


op(
    "bernoulli_(self, p, *, generator: any? = None)", "BernoulliBackward1", "Fill with ones at the given probabilities.",
    forward=_bernoulli_by, kind="inplace", spaces=("Tensor",), attributes=(),
    grads={"self": zeros, "p": lambda grad, p_sizes: zeros_of_shape(grad, p_sizes)},
)
_filler(
    "bernoulli_(self, p: float = 0.5, *, generator: any? = None)", "BernoulliBackward2", "Fill with ones with probability p.",
    lambda stream, shape, dtype, flat, p: stream.bernoulli(p, shape, dtype),
)
bernoulli = op(
    "bernoulli(self, *, generator: any? = None)", "BernoulliBackward0", "Ones where a draw falls below the element, else zeros.",
    forward=lambda self, generator: stream_of(generator).bernoulli_of(np.ascontiguousarray(self).reshape(self.shape)),
    attributes=(), grads={"self": zeros},
)


op(
    "binomial(count, prob, *, generator: any? = None)", "BinomialBackward0", "How many of `count` trials succeed, each with `prob`.",
    forward=lambda count, prob, generator: stream_of(generator).binomial(*np.broadcast_arrays(count, prob)),
    spaces=("torch",), attributes=(), dtypes="same", grads={"prob": zeros},
)
op(
    "_standard_gamma(self, generator: any? = None)", "StandardGammaBackward0", "Gamma numbers with the elements as concentrations.",
    forward=lambda self, generator: _gammas(stream_of(generator), self), spaces=("torch",), attributes=(), forward_mode="refused",
    grads={"self": lambda grad, self, result: grad * find("_standard_gamma_grad")(self, result)},
)


def _gammas(stream: Any, concentration: Array) -> Array:
    found = stream.gamma(np.ascontiguousarray(concentration).reshape(concentration.shape)).astype(concentration.dtype)
    return np.maximum(found, np.finfo(concentration.dtype).tiny)


op(
    "poisson(self, *, generator: any? = None)", "PoissonBackward0", "Poisson numbers with the elements as rates.",
    forward=lambda self, generator: stream_of(generator).poisson(np.ascontiguousarray(self).reshape(self.shape)),
    spaces=("torch",), attributes=(), grads={"self": zeros},
)


op(
    "bernoulli(self, p: float, *, generator: any? = None)", "", "Ones with probability p, in the shape of `self`.",
    forward=lambda self, p, generator: stream_of(generator).bernoulli(p, self.shape, self.dtype), grads={"self": None},
)


# --- new tensors ------------------------------------------------------------------------------------------------


def _float_dtype(dtype: NumpyDType | None, what: str) -> NumpyDType:
    chosen = np.dtype(current().default_dtype if dtype is None else dtype)
    if chosen.kind != "f":
        raise fail("dtype", f"\"{what}\" not implemented for '{of_numpy(chosen).title}'", NotImplementedError)
    return chosen


def _drawn(dtype: NumpyDType, size: tuple[int, ...], draw: Callable[[], Array]) -> Array:
    """Return numbers of a shape, once it is known that there may be so many."""
    if any(extent < 0 for extent in size):
        raise fail("value", f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    check_bytes(np.dtype(dtype).itemsize * prod(size))
    return draw()


def _uniform(size: tuple[int, ...], generator: Generator | None, dtype: NumpyDType | None) -> Array:
    chosen = _float_dtype(dtype, "check_uniform_bounds")
    return _drawn(chosen, size, lambda: stream_of(generator).uniform(size, 0.0, 1.0, chosen))


def _normal(mean: float, std: float, size: tuple[int, ...], generator: Generator | None, dtype: Any) -> Array:
    chosen = _float_dtype(dtype, "normal_kernel_cpu")
    return _drawn(chosen, size, lambda: stream_of(generator).normal(size, mean, std, chosen))


def _randint(
    low: int, high: int, size: tuple[int, ...], generator: Generator | None, dtype: NumpyDType | None
) -> Array:
    chosen = np.dtype(np.int64 if dtype is None else dtype)
    return _drawn(chosen, size, lambda: stream_of(generator).randint(low, high, size, chosen))


def _random_factory(text: str, doc: str, values: Callable[..., Array]) -> None:
    factory(text, doc, values, lead="generator: any? = None, ", own=not text.startswith("rand("))


_random_factory("rand(*size: ints", "Numbers uniform in [0, 1).", _uniform)
_random_factory("randn(*size: ints", "Standard normal numbers.", lambda *given: _normal(0.0, 1.0, *given))
_random_factory("randint(high: int, size: tuple", "Whole numbers in 0 … high-1.", lambda *given: _randint(0, *given))
_random_factory("randint(low: int, high: int, size: tuple", "Whole numbers in low … high-1.", _randint)
_random_factory(
    "randperm(n: int", "The numbers 0 … n-1 in random order.",
    lambda n, generator, dtype: stream_of(generator).randperm(n).astype(np.int64 if dtype is None else dtype),
)


def _like(name: str, doc: str, fill: Callable[..., object], lead: str = "") -> None:
    def body(input: Tensor, *rest: object) -> Tensor:
        *arguments, generator, dtype, _layout, device, memory_format, requires_grad = rest
        check_device(device)
        made = finished(alike(array_of(input), dtype, memory_format), False)
        fill(made, *arguments, generator=generator)
        made.counter.version = 0
        if requires_grad:
            made.requires_grad_()
        return made

    composite(f"{name}(input, {lead}*, generator: any? = None, {LIKE})", doc, body, TORCH)


_like("rand_like", "Numbers uniform in [0, 1), in the shape of another tensor.", lambda made,
    generator: find("uniform_")(made, generator=generator))
_like("randn_like", "Standard normal numbers in the shape of another tensor.", lambda made,
    generator: find("normal_")(made, generator=generator))
_like(
    "randint_like", "Whole numbers in 0 … high-1 in the shape of another tensor.",
    lambda made, high, generator: find("random_")(made, 0, high, generator=generator), "high: int, ",
)
_like(
    "randint_like", "Whole numbers in low … high-1 in the shape of another tensor.",
    lambda made, low, high, generator: find("random_")(made, low, high, generator=generator), "low: int, high: int, ",
)


# --- normal numbers around means --------------------------------------------------------------------------------


def _standard(shape: tuple[int, ...], dtype: NumpyDType, generator: Any) -> Array:
    return stream_of(generator).normal(shape, 0.0, 1.0, dtype)


def _check_std(std: Array) -> None:
    if std.size and not (std >= 0).all():
        raise fail("value", "normal expects all elements of std >= 0.0")


def _normal_both(mean: Array, std: Array, generator: object) -> Array:
    _check_std(std)
    shape = np.broadcast_shapes(mean.shape, std.shape)
    scaled = in_dtype(_standard(shape, mean.dtype, generator) * std, mean.dtype)
    return in_dtype(scaled + mean, mean.dtype)


def _normal_mean(mean: Array, std: float, generator: object) -> Array:
    if std < 0:
        raise fail("value", f"normal expects std >= 0.0, but found std {std:g}")
    dtype = mean.dtype
    return in_dtype(in_dtype(_standard(mean.shape, dtype, generator) * mean.dtype.type(std), dtype) + mean, dtype)


def _normal_std(mean: float, std: Array, generator: object) -> Array:
    _check_std(std)
    return in_dtype(in_dtype(_standard(std.shape, std.dtype, generator) * std, std.dtype) + std.dtype.type(mean), std.dtype)


op(
    "normal(mean, std, *, generator: any? = None)", "NormalBackward3", "Normal numbers with means and deviations of two tensors.",
    forward=_normal_both, spaces=TORCH, reduced="own",
    grads={
        "mean": writes(1)(lambda grad, mean_sizes: zeros_of_shape(grad, mean_sizes)),
        "std": writes(1)(lambda grad, std_sizes: zeros_of_shape(grad, std_sizes)),
    },
)
op(
    "normal(mean, std: float = 1.0, *, generator: any? = None)", "NormalBackward1", "Normal numbers with the means of a tensor.",
    forward=_normal_mean, spaces=TORCH, reduced="own",
    grads={"mean": writes(1)(lambda grad, mean_sizes: zeros_of_shape(grad, mean_sizes))},
)
op(
    "normal(mean: float, std, *, generator: any? = None)", "NormalBackward2", "Normal numbers with the deviations of a tensor.",
    forward=_normal_std, spaces=TORCH, reduced="own",
    grads={"std": writes(1)(lambda grad, std_sizes: zeros_of_shape(grad, std_sizes))},
)
_random_factory("normal(mean: float, std: float, size: tuple", "Normal numbers of a shape.", _normal)
op(
    "multinomial(self, num_samples: int, replacement: bool = False, *, generator: any? = None)", "",
    "Indices drawn with the given weights.",
    forward=lambda self, num_samples, replacement, generator: stream_of(generator).multinomial(self, num_samples, replacement),
)
