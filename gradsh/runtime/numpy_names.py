"""`numpy` for scripts: what makes, reads and computes arrays of numbers, and numpy's own random numbers, bit for bit."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gradsh.runtime.allowlist import offer
from gradsh.runtime.library import Library, listed
from gradsh.runtime.numpy_files import numpy_files
from gradsh.runtime.object_arrays import numbers_only
from gradsh.runtime.type_proxies import TypeProxy
from gradsh.text.fault import fail

if TYPE_CHECKING:
    from gradsh.runtime.machine import Machine

_CONSTANTS = "newaxis pi inf nan e euler_gamma True_ False_"
_TYPES = (
    "float16 float32 float64 double single int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool bool_ intp floating integer number "
    "generic dtype finfo iinfo half byte ubyte short ushort intc uintc int_ uint long longlong str_ inexact signedinteger unsignedinteger "
    "errstate ndindex ndenumerate"
)
_FUNCTIONS = (
    "array asarray zeros ones arange linspace abs absolute add all allclose any append arccos arcsin arctan arctan2 "
    "argmax argmin argpartition argsort argwhere around array2string array_equal array_split ascontiguousarray "
    "atleast_1d atleast_2d average bincount broadcast_to cbrt ceil clip column_stack concatenate copy corrcoef cos cosh "
    "count_nonzero cov cross cumprod cumsum deg2rad degrees delete diag diagonal diff digitize divide dot einsum empty "
    "empty_like equal exp exp2 expand_dims expm1 eye fill_diagonal flatnonzero flip fliplr flipud floor floor_divide "
    "full full_like gradient greater greater_equal heaviside histogram hsplit hstack hypot identity inner insert interp "
    "isclose isfinite isin isinf isnan isscalar kron less less_equal log log10 log1p log2 logaddexp logical_and "
    "logical_not logical_or logical_xor logspace matmul max maximum mean median meshgrid min minimum mod moveaxis "
    "multiply nan_to_num nanmax nanmean nanmin nanstd nansum ndim negative nonzero not_equal ones_like outer pad "
    "percentile polyfit polyval power prod quantile rad2deg radians ravel reciprocal repeat reshape resize roll rollaxis "
    "rot90 round searchsorted shape sign sin sinh size sort split sqrt square squeeze stack std subtract sum swapaxes "
    "take tan tanh tensordot tile trace transpose trapezoid tri tril tril_indices triu triu_indices trunc union1d unique "
    "unravel_index vander var vdot vsplit vstack where zeros_like array_equiv bartlett blackman block convolve correlate "
    "dsplit dstack ediff1d fabs float_power fmod geomspace hamming hanning histogram2d indices intersect1d isneginf isposinf "
    "lexsort nanargmax nanargmin nancumsum nanmedian nanpercentile nanprod nanquantile nanvar polyder polyint ptp remainder "
    "rint roots select setdiff1d setxor1d sinc take_along_axis unwrap acos acosh amax amin apply_along_axis arccosh arcsinh arctanh "
    "array_repr array_str asanyarray asfortranarray asin asinh atan atan2 atanh atleast_3d binary_repr bitwise_and bitwise_invert "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays broadcast_shapes compress concat "
    "copysign copyto cumulative_prod cumulative_sum diag_indices diag_indices_from diagflat divmod extract fmax fmin frexp "
    "fromfunction fromiter gcd histogram_bin_edges invert "
    "isreal isrealobj iscomplexobj issubdtype iterable ix_ kaiser lcm ldexp left_shift "
    "logaddexp2 mask_indices matrix_transpose may_share_memory modf nancumprod nextafter partition permute_dims piecewise place poly "
    "polyadd polydiv polymul polysub positive pow promote_types put put_along_axis putmask ravel_multi_index real result_type "
    "right_shift signbit spacing tril_indices_from trim_zeros triu_indices_from true_divide unique_counts unique_values unstack vecdot"
)
_LINALG = (
    "norm inv det solve eig eigh eigvals eigvalsh svd qr pinv cholesky matrix_rank lstsq matrix_power cond "
    "multi_dot slogdet vector_norm matrix_norm"
)
_DRAWS = (
    "random uniform normal standard_normal choice permutation shuffle exponential poisson binomial beta gamma laplace logistic "
    "lognormal multinomial multivariate_normal dirichlet geometric gumbel triangular chisquare pareto power rayleigh standard_cauchy "
    "standard_exponential standard_gamma standard_t vonmises wald weibull negative_binomial hypergeometric zipf"
)
_LEGACY = f"{_DRAWS} seed rand randn randint random_sample get_state set_state"
_ARRAYS = "write `np.zeros(shape)` or `np.array(values)`"
_GRIDS = ("c_", "mgrid", "ogrid", "r_", "s_")
_OF_SEQUENCES = ("choice", "permutation")


def load_numpy(machine: "Machine") -> Mapping[str, Any]:
    """Return what `numpy` offers."""
    import numpy as np

    machine.guard.kinds.stand_in(np.ndarray, ArrayKind(np.ndarray))
    for limits in (np.finfo, np.iinfo):
        offer(limits, "eps max min tiny bits resolution smallest_normal dtype")
    guarded = {name: numbers_only(value) for name, value in listed(np, _FUNCTIONS).items()}
    return guarded | listed(np, f"{_CONSTANTS} {_TYPES}") | {
        "ndarray": machine.guard.kinds.seen(np.ndarray), "random": Library("numpy.random", _random),
        "linalg": Library("numpy.linalg", _linalg), "testing": Library("numpy.testing", _testing),
        "lib": Library("numpy.lib", lambda: {"stride_tricks": Library("numpy.lib.stride_tricks", _stride_tricks)}),
        **machine.array_printing.members(), "__version__": np.__version__, "seterr": lambda *_, **__: {}, "vectorize": _vectorize,
        "poly1d": Polynomial,
        **{name: Grid(getattr(np, name)) for name in _GRIDS}, **numpy_files(),
    }


class ArrayKind(TypeProxy):
    """`numpy.ndarray`: called with a buffer, it gives the elements of another array in another shape."""

    __slots__ = ()

    def __call__(self, shape: Any, dtype: Any = float, buffer: object = None) -> Any:
        """Return the array. Raises TypeError for elements that are no array's, or of another dtype."""
        import numpy as np

        if type(buffer) is not np.ndarray or np.dtype(dtype) != buffer.dtype:
            raise fail("type", "np.ndarray() takes an array as its buffer, and that array's dtype", TypeError, way=_ARRAYS)
        return numbers_only(np.ndarray)(shape, buffer.dtype, buffer)


def _vectorize(pyfunc: Callable[..., object], *_: object, otypes: Any = None, **__: object) -> Callable[..., object]:
    """Return a function of arrays that calls a function of numbers for each place."""
    import numpy as np

    return numbers_only(np.vectorize(pyfunc, otypes=otypes))


class Polynomial:
    """`np.poly1d`: a polynomial that can be called, with its coefficients, highest power first."""

    __module__ = "numpy"
    __script_attributes__ = frozenset({"c", "coef", "coeffs", "order", "roots", "deriv"})

    def __init__(self, c_or_r: object) -> None:
        import numpy as np

        self.c = self.coef = self.coeffs = np.trim_zeros(np.atleast_1d(np.asarray(c_or_r, dtype=float)), "f")
        self.order = max(len(self.c) - 1, 0)

    def __call__(self, val: Any) -> Any:
        """Return the value at a place, or at each of an array."""
        import numpy as np

        return np.polyval(self.c, val)

    def __repr__(self) -> str:
        return repr(self.c).replace("array", "poly1d")

    @property
    def roots(self) -> Any:
        """Where it is zero."""
        import numpy as np

        return np.roots(self.c)

    def deriv(self, m: int = 1) -> "Polynomial":
        """Return the derivative of some order."""
        import numpy as np

        return Polynomial(np.polyder(self.c, m))


Polynomial.__name__ = Polynomial.__qualname__ = "poly1d"


class Grid:
    """What numpy makes of slices: `np.mgrid[0:3, 0:2]`, `np.r_[1:4, 0]`."""

    __module__ = "numpy"
    __script_attributes__: frozenset[str] = frozenset()

    def __init__(self, own: Any) -> None:
        self._own = numbers_only(own.__getitem__)

    def __getitem__(self, key: object) -> Any:
        return self._own(key)


def _linalg() -> Mapping[str, object]:
    import numpy as np

    found = {name: numbers_only(value) for name, value in listed(np.linalg, _LINALG).items()}
    return found | {"LinAlgError": np.linalg.LinAlgError}


def _stride_tricks() -> Mapping[str, object]:
    """Return what views an array within its memory; `as_strided` reaches beyond it."""
    from numpy.lib.stride_tricks import sliding_window_view

    return {"sliding_window_view": numbers_only(sliding_window_view)}


def _testing() -> Mapping[str, object]:
    import numpy.testing

    names = "assert_allclose assert_array_equal assert_almost_equal assert_array_almost_equal assert_equal assert_array_less"
    return {name: numbers_only(value) for name, value in listed(numpy.testing, names).items()}


def _random() -> Mapping[str, object]:
    """Return what `numpy.random` offers: the old functions over a stream of the session's own, and generators of both kinds."""
    import numpy as np

    def default_rng(seed: Any = None) -> RandomStream:
        """Return a generator; without a seed, one that two runs agree on."""
        return seed if isinstance(seed, Generator) else Generator(np.random.default_rng(0 if seed is None else seed))

    def random_state(seed: Any = None) -> RandomStream:
        """Return a stream of the old kind; without a seed, one that two runs agree on."""
        return RandomState(np.random.RandomState(0 if seed is None else seed))

    shared = RandomState(np.random.RandomState(0))
    return {name: getattr(shared, name) for name in _LEGACY.split()} | {
        "sample": shared.random_sample, "ranf": shared.random_sample,
        "default_rng": default_rng, "RandomState": random_state, "Generator": TypeProxy(Generator),
    }


class RandomStream:
    """Random numbers of numpy's: each method is numpy's own, and gives numbers only."""

    __slots__ = ("_own",)
    __script_attributes__ = frozenset(_DRAWS.split())

    def __init__(self, own: object) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        if name not in self.__script_attributes__:
            raise AttributeError(name)
        drawn = numbers_only(getattr(self._own, name))
        return _of_numbers(drawn) if name in _OF_SEQUENCES else drawn


class Generator(RandomStream):
    """What `default_rng` gives."""

    __module__ = "numpy.random"
    __slots__ = ()
    __script_attributes__ = RandomStream.__script_attributes__ | {"integers", "permuted"}


class RandomState(RandomStream):
    """What `RandomState` gives."""

    __module__ = "numpy.random"
    __slots__ = ()
    __script_attributes__ = frozenset(_LEGACY.split())


def _of_numbers(function: Callable[..., object]) -> Callable[..., object]:
    """Let a function that takes a sequence have it as an array, which is looked at."""
    import numpy as np

    array = numbers_only(np.asarray)

    def drawn(a: object, *args: object, **kwargs: object) -> object:
        return function(a if isinstance(a, int) else array(a), *args, **kwargs)

    drawn.__name__ = drawn.__qualname__ = function.__name__
    return drawn

