"""What every record promises, checked on its own samples: gradients of both orders, in-place forms, rejections."""

import zlib

import numpy as np
import pytest

from gradsh.api.forward_ad import dual_level, make_dual, unpack_dual
from gradsh.engine.autograd.backward import grad as gradient
from gradsh.engine.dispatch.declare import Within
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.registry import every_operation
from gradsh.engine.values.dtype import float64
from gradsh.text.fault import fault_of

STEP = 1e-6
REGISTRY = every_operation()
RECORDS = [
    (name, place) for name, operation in sorted(REGISTRY.items()) if operation.name == name
    for place in range(len(operation.records))
]


HALF_READ = {"cholesky_inverse", "cholesky_solve"}
"""PyTorch's gradient fills the triangle that the forward does not read; finite differences see zeros there."""


def samples(rejecting):
    return [
        pytest.param(name, place, number, id=f"{name}-{place}-{number}")
        for name, place in RECORDS
        for number, one in enumerate(REGISTRY[name].records[place].samples)
        if bool(one[2]) is rejecting and REGISTRY[name].records[place].kind != "inplace"
    ]


def data(spec, rng):
    """Return the array that a sample's input stands for, None for what is passed as it is."""
    if isinstance(spec, Within):
        return np.asarray(rng.uniform(spec.low, spec.high, spec.shape))
    if isinstance(spec, tuple) and all(isinstance(one, int) for one in spec):
        return np.asarray(rng.normal(size=spec))
    if isinstance(spec, str) and ":" in spec:
        dtype, _, shape = spec.partition(":")
        extents = tuple(int(one) for one in shape.split(",") if one)
        high = 2 if dtype == "bool" else 3
        return np.asarray(rng.integers(0, high, extents) if "float" not in dtype else rng.normal(size=extents), dtype)
    if isinstance(spec, np.ndarray):
        return spec
    return None


class Case:
    """One sample of a record, to be called again and again with other numbers."""

    def __init__(self, name, place, number):
        self.operation = REGISTRY[name]
        self.inputs, self.kwargs, self.rejects = self.operation.records[place].samples[number]
        rng = np.random.default_rng(zlib.crc32(f"{name}{place}{number}".encode()))
        params = self.operation.records[place].signature.params
        kinds = [param.type for param in params] + ["any"] * len(self.inputs)
        self.arrays = [self._arrays(spec, kind, rng) for spec, kind in zip(self.inputs, kinds, strict=False)]
        self.rng = rng

    def _arrays(self, spec, kind, rng):
        """Shapes stand for tensors where the parameter is one; elsewhere a tuple is a tuple."""
        if kind not in {"Tensor", "Operand", "Tensors"}:
            return None
        if isinstance(spec, list):
            return [data(one, rng) for one in spec]
        return data(spec, rng)

    def leaves(self):
        """Return (arguments, the floating tensors among them)."""
        arguments, leaves = [], []

        def tensor(array):
            found = make(array.copy(), array.dtype.kind == "f")
            if found.needs_grad:
                leaves.append(found)
            return found

        for spec, held in zip(self.inputs, self.arrays, strict=True):
            if isinstance(held, list) and any(one is not None for one in held):
                arguments.append([tensor(one) for one in held])
            else:
                arguments.append(spec if held is None or isinstance(held, list) else tensor(held))
        return arguments, leaves

    def call(self, arguments):
        return outputs(self.operation(*arguments, **self.kwargs))


def outputs(value):
    """Return the floating tensors that need a gradient in a result."""
    found = value if isinstance(value, (tuple, list)) else (value,)
    return [one for one in found if isinstance(one, Tensor) and one.requires_grad]


def total(results, weights):
    return sum(float((one.array * weight).sum()) for one, weight in zip(results, weights, strict=True))


def finite_difference(function, leaf):
    """Return the derivative of a number with respect to every element of a leaf, by central differences."""
    slopes = np.zeros_like(leaf.array)
    for place in np.ndindex(leaf.array.shape):
        kept = leaf.array[place]
        leaf.array[place] = kept + STEP
        above = function()
        leaf.array[place] = kept - STEP
        below = function()
        leaf.array[place] = kept
        slopes[place] = (above - below) / (2 * STEP)
    return slopes


@pytest.mark.parametrize(("name", "place", "number"), samples(rejecting=False))
def test_gradients_agree_with_finite_differences(name, place, number):
    case = Case(name, place, number)
    arguments, leaves = case.leaves()
    results = case.call(arguments)
    if not results or name in HALF_READ:
        return
    weights = [np.asarray(case.rng.normal(size=one.array.shape)) for one in results]
    cotangents = [make(weight.astype(one.array.dtype)) for weight, one in zip(weights, results, strict=True)]
    found = gradient(results, leaves, cotangents, retain_graph=True, allow_unused=True)
    for leaf, got in zip(leaves, found, strict=True):
        expected = finite_difference(lambda: total(case.call(arguments), weights), leaf)
        slope = np.zeros_like(leaf.array) if got is None else got.array
        np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-5)
    check_second_order(case, arguments, leaves, weights)


@pytest.mark.parametrize(("name", "place", "number"), samples(rejecting=False))
def test_forward_mode_agrees_with_backward(name, place, number):
    case = Case(name, place, number)
    arguments, leaves = case.leaves()
    results = case.call(arguments)
    if not results or not leaves or name in READ_OTHERWISE:
        return
    with dual_level():
        vectors = [make(np.asarray(case.rng.normal(size=leaf.array.shape), leaf.array.dtype)) for leaf in leaves]
        duals = {id(leaf): make_dual(leaf, vector) for leaf, vector in zip(leaves, vectors, strict=True)}
        followed = [
            [duals.get(id(one), one) for one in held] if isinstance(held, list) else duals.get(id(held), held) for held in arguments
        ]
        if name in REFUSED:
            with pytest.raises(NotImplementedError, match="Trying to use forward AD"):
                case.call(followed)
            return
        tangents = [unpack_dual(one).tangent for one in case.call(followed)]
    weights = [make(np.asarray(case.rng.normal(size=one.array.shape), one.array.dtype)) for one in results]
    slopes = gradient(results, leaves, weights, allow_unused=True)
    pushed = sum(float((a.array * b.array).sum()) for a, b in zip(tangents, weights, strict=True) if a is not None)
    pulled = sum(float((a.array * b.array).sum()) for a, b in zip(slopes, vectors, strict=True) if a is not None)
    np.testing.assert_allclose(pushed, pulled, rtol=1e-4, atol=1e-5)


REFUSED = {
    "_cdist_forward", "_pdist_forward", "_scaled_dot_product_flash_attention_for_cpu", "cdist", "cholesky",
    "grid_sample", "grid_sampler_2d", "grid_sampler_3d", "pdist",
}
READ_OTHERWISE = {"embedding", "index_put", "scatter", "put", "index_copy"}
"""Operations that forward mode applies to tangents: backward counts what was overwritten, and no row of padding."""
CONSTANT_PARTS = {"_weight_norm_interface"}
"""Operations whose gradient PyTorch does not differentiate wholly: it takes the norms for constants."""


def check_second_order(case, arguments, leaves, weights):
    """Compare the gradient of the gradient with finite differences of the gradient."""
    if case.operation.name in CONSTANT_PARTS or any(leaf.dtype is not float64 for leaf in leaves):
        return

    def first(create):
        results = case.call(arguments)
        cotangents = [make(np.asarray(weight, one.array.dtype)) for weight, one in zip(weights, results, strict=True)]
        return gradient(results, leaves, cotangents, create_graph=create, allow_unused=True)

    try:
        slopes = first(create=True)
        chosen = [one is not None and one.requires_grad for one in slopes]
        kept = [one for one, wanted in zip(slopes, chosen, strict=True) if wanted]
        if not kept:
            return
        vectors = [np.asarray(case.rng.normal(size=one.array.shape)) for one in kept]
        found = gradient(kept, leaves, [make(one.copy()) for one in vectors], allow_unused=True)
    except (RuntimeError, NotImplementedError) as error:
        if "not implemented" not in str(error):
            raise
        return

    def number():
        again = [one for one, wanted in zip(first(create=False), chosen, strict=True) if wanted]
        return total(again, vectors)

    for leaf, got in zip(leaves, found, strict=True):
        slope = np.zeros_like(leaf.array) if got is None else got.array
        np.testing.assert_allclose(slope, finite_difference(number, leaf), rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "place", "number"), samples(rejecting=True))
def test_rejects(name, place, number):
    case = Case(name, place, number)
    arguments, _ = case.leaves()
    with pytest.raises((RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)) as caught:
        case.operation(*arguments, **case.kwargs)
    assert fault_of(caught.value).kind == case.rejects


@pytest.mark.parametrize(("name", "place", "number"), samples(rejecting=False))
def test_the_inplace_form_gives_the_same(name, place, number):
    form = REGISTRY.get(f"{name}_")
    case = Case(name, place, number)
    if form is None or not isinstance(case.arrays[0], np.ndarray):
        return
    arguments, _ = case.leaves()
    expected = case.operation(*arguments, **case.kwargs)
    if expected.array.shape != case.arrays[0].shape:
        return  # broadcasting would enlarge what is written
    target = make(case.arrays[0].copy())
    written = form(target, *[make(one.array) if isinstance(one, Tensor) else one for one in arguments[1:]], **case.kwargs)
    assert written is target
    assert target._version > 0
    np.testing.assert_allclose(target.array, expected.array, rtol=1e-12)


@pytest.mark.parametrize(("name", "place", "number"), samples(rejecting=False))
def test_inputs_stay_as_they_are_and_results_are_fresh(name, place, number):
    case = Case(name, place, number)
    record = case.operation.records[place]
    arguments, leaves = case.leaves()
    before = [leaf.array.copy() for leaf in leaves]
    results = case.call(arguments)
    for leaf, kept in zip(leaves, before, strict=True):
        np.testing.assert_array_equal(leaf.array, kept)
        if record.kind == "primitive" and not name.startswith("unsafe_"):  # these share memory, as the name warns
            assert not any(np.shares_memory(one.array, leaf.array) for one in results)


@pytest.mark.parametrize(("name", "place"), RECORDS)
def test_a_record_is_complete(name, place):
    record = REGISTRY[name].records[place]
    assert record.doc.endswith((".", ":")) or name.startswith("_"), "a record says in a sentence what it does"
    record.plan
    for formula in record.grads:
        names = formula if isinstance(formula, tuple) else (formula,)
        assert all(one in record.signature.index for one in names)
