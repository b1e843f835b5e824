"""PyTorch's repr: stored texts, PyTorch itself over random arrays where it is installed, and the options."""

import random

import numpy as np
import pytest

from gradsh.engine.printing.format import PrintOptions, dtype_shown, format_parameter, format_scalar, format_tensor
from gradsh.text.fault import fault_of

DEFAULT = np.dtype(np.float32)
F = DEFAULT.type


def shown(array, options=None, default=DEFAULT, **suffixes):
    array = np.asarray(array)
    name = dtype_shown(array.dtype, np.dtype(default), array.size == 0)
    return format_tensor(array, options=options or PrintOptions(), dtype_suffix=name, **suffixes)


TEXTS = [
    (F(np.array([1.0, 2.5, -3.0])), "tensor([ 1.0000,  2.5000, -3.0000])"),
    (F(np.array([1.0, 2.0, -3.0])), "tensor([ 1.,  2., -3.])"),
    (F(np.array([1e-5, 1.0])), "tensor([1.0000e-05, 1.0000e+00])"),
    (F(np.array([1e9, 2.0])), "tensor([1.0000e+09, 2.0000e+00])"),
    (F(np.array(3.14159)), "tensor(3.1416)"),
    (F(np.array(-0.0)), "tensor(-0.)"),
    (F(np.array([np.nan, np.inf, -np.inf, 1.5])), "tensor([   nan,    inf,   -inf, 1.5000])"),
    (F(np.array([np.nan, np.inf, 2.0])), "tensor([nan, inf, 2.])"),
    (F(np.array([0.0, np.nan])), "tensor([0., nan])"),
    (F(np.zeros((0, 3))), "tensor([], size=(0, 3))"),
    (F(np.zeros(0)), "tensor([])"),
    (F(np.zeros((2, 0, 3))), "tensor([], size=(2, 0, 3))"),
    (F(np.zeros((1, 1, 1, 2))), "tensor([[[[0., 0.]]]])"),
    (
        F(np.arange(6.0).reshape(2, 3)),
        ("tensor([[0., 1., 2.],\n        [3., 4., 5.]])"),
    ),
    (
        F(np.arange(12.0).reshape(2, 3, 2) / 8),
        (
            "tensor([[[0.0000, 0.1250],\n"
            "         [0.2500, 0.3750],\n"
            "         [0.5000, 0.6250]],\n"
            "\n"
            "        [[0.7500, 0.8750],\n"
            "         [1.0000, 1.1250],\n"
            "         [1.2500, 1.3750]]])"
        ),
    ),
    (
        F(np.arange(2000.0)),
        ("tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n        1.9990e+03])"),
    ),
    (
        F(np.arange(10000.0).reshape(100, 100) / 7),
        (
            "tensor([[0.0000e+00, 1.4286e-01, 2.8571e-01,  ..., 1.3857e+01, 1.4000e+01,\n"
            "         1.4143e+01],\n"
            "        [1.4286e+01, 1.4429e+01, 1.4571e+01,  ..., 2.8143e+01, 2.8286e+01,\n"
            "         2.8429e+01],\n"
            "        [2.8571e+01, 2.8714e+01, 2.8857e+01,  ..., 4.2429e+01, 4.2571e+01,\n"
            "         4.2714e+01],\n"
            "        ...,\n"
            "        [1.3857e+03, 1.3859e+03, 1.3860e+03,  ..., 1.3996e+03, 1.3997e+03,\n"
            "         1.3999e+03],\n"
            "        [1.4000e+03, 1.4001e+03, 1.4003e+03,  ..., 1.4139e+03, 1.4140e+03,\n"
            "         1.4141e+03],\n"
            "        [1.4143e+03, 1.4144e+03, 1.4146e+03,  ..., 1.4281e+03, 1.4283e+03,\n"
            "         1.4284e+03]])"
        ),
    ),
    (
        F(np.linspace(-1, 1, 25)),
        (
            "tensor([-1.0000, -0.9167, -0.8333, -0.7500, -0.6667, -0.5833, -0.5000, -0.4167,\n"
            "        -0.3333, -0.2500, -0.1667, -0.0833,  0.0000,  0.0833,  0.1667,  0.2500,\n"
            "         0.3333,  0.4167,  0.5000,  0.5833,  0.6667,  0.7500,  0.8333,  0.9167,\n"
            "         1.0000])"
        ),
    ),
    (F(np.array([1000.0, 1.5, 1.0])), "tensor([1000.0000,    1.5000,    1.0000])"),
    (F(np.array([1001.5, 1.0])), "tensor([1.0015e+03, 1.0000e+00])"),
    (F(np.array([123456.75])), "tensor([123456.7500])"),
    (F(np.array([0.99995, 0.00012])), "tensor([9.9995e-01, 1.2000e-04])"),
    (np.array([1, -20, 300]), "tensor([  1, -20, 300])"),
    (np.array(7), "tensor(7)"),
    (
        np.array([[True, False], [True, True]]),
        ("tensor([[ True, False],\n        [ True,  True]])"),
    ),
    (np.array(True), "tensor(True)"),
    (np.zeros((0,), np.int64), "tensor([], dtype=torch.int64)"),
    (
        np.array([[-(2**63)], [5]]),
        ("tensor([[-9223372036854775808],\n        [                   5]])"),
    ),
    (np.array([1, 255], np.uint8), "tensor([  1, 255], dtype=torch.uint8)"),
    (np.array([-1, 5], np.int32), "tensor([-1,  5], dtype=torch.int32)"),
    (np.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (np.array([1.5, 2.0], np.float64), "tensor([1.5000, 2.0000], dtype=torch.float64)"),
    (np.zeros((0, 2), np.bool_), "tensor([], size=(0, 2), dtype=torch.bool)"),
]


@pytest.mark.parametrize(("array", "text"), TEXTS)
def test_values(array, text):
    assert shown(array) == text


CHANGED = [
    ({"precision": 2}, F(np.array([1.23456, 2.0])), "tensor([1.23, 2.00])"),
    ({"precision": 0}, F(np.array([1.5, 2.5])), "tensor([2, 2])"),
    ({"sci_mode": True}, F(np.array([1.0, 22.0])), "tensor([1.0000e+00, 2.2000e+01])"),
    ({"sci_mode": False}, F(np.array([1e-6, 2e5])), "tensor([     0.0000, 200000.0000])"),
    (
        {"linewidth": 30},
        F(np.arange(9.0) / 4),
        "tensor([0.0000, 0.2500,\n        0.5000, 0.7500,\n        1.0000, 1.2500,\n        1.5000, 1.7500,\n        2.0000])",
    ),
    (
        {"threshold": 5, "edgeitems": 1},
        F(np.arange(12.0).reshape(3, 4)),
        "tensor([[ 0.,  ...,  3.],\n        ...,\n        [ 8.,  ..., 11.]])",
    ),
    ({"threshold": 5, "edgeitems": 0}, F(np.arange(12.0).reshape(3, 4)), "tensor([...], size=(3, 4))"),
    ({"profile": "short", "threshold": 4}, F(np.arange(6.0) / 3), "tensor([0.00, 0.33,  ..., 1.33, 1.67])"),
    ({"profile": "full"}, F(np.arange(3.0)), "tensor([0., 1., 2.])"),
]


@pytest.mark.parametrize(("changes", "array", "text"), CHANGED)
def test_options(changes, array, text):
    options = PrintOptions()
    options.set_printoptions(**changes)
    assert shown(array, options) == text


def test_the_default_dtype_decides_which_suffix_is_shown():
    assert shown(np.ones(1, np.float64), default=np.float64) == "tensor([1.])"
    assert shown(np.ones(1, np.float32), default=np.float64) == "tensor([1.], dtype=torch.float32)"
    assert shown(np.zeros(0, np.float64), default=np.float64) == "tensor([])"


def test_gradient_suffixes():
    ones = np.ones((1, 2), np.float32)
    assert shown(ones, requires_grad=True) == "tensor([[1., 1.]], requires_grad=True)"
    assert shown(ones, requires_grad=True, grad_fn="MulBackward0") == "tensor([[1., 1.]], grad_fn=<MulBackward0>)"
    text = format_parameter(shown(ones, requires_grad=True))
    assert text == "Parameter containing:\ntensor([[1., 1.]], requires_grad=True)"


def test_a_suffix_without_room_goes_to_a_line_of_its_own():
    line = "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.]"
    ones = np.ones(12, np.float32)
    fits, wide = "N" * 10, "N" * 13
    assert shown(ones, grad_fn=fits) == f"{line}, grad_fn=<{fits}>)"
    assert shown(ones, grad_fn=wide) == f"{line},\n       grad_fn=<{wide}>)"
    both = shown(ones.astype(np.float64), grad_fn=wide)
    assert both == f"{line}, dtype=torch.float64,\n       grad_fn=<{wide}>)"


def test_profiles_and_what_they_keep():
    options = PrintOptions()
    options.set_printoptions(profile="short", precision=7, sci_mode=True)
    expected = {"precision": 7, "threshold": 1000, "edgeitems": 2, "linewidth": 80, "sci_mode": True}
    assert options.get_printoptions() == expected
    twin = options.copy()
    options.set_printoptions(linewidth=120)
    assert options.get_printoptions() == expected | {"linewidth": 120, "sci_mode": None}
    assert twin.get_printoptions() == expected
    options.set_printoptions(profile="no such profile")
    assert options.get_printoptions() == expected | {"linewidth": 120, "sci_mode": None}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"precision": "a"}, TypeError),
        ({"precision": 2.5}, TypeError),
        ({"precision": True}, TypeError),
        ({"precision": -1}, ValueError),
        ({"precision": 10**9}, ValueError),
        ({"threshold": "a"}, TypeError),
        ({"edgeitems": -1}, ValueError),
        ({"linewidth": "a"}, TypeError),
        ({"linewidth": float("inf")}, ValueError),
    ],
)
def test_options_that_nothing_could_be_printed_with_are_refused_and_change_nothing(changes, error):
    options = PrintOptions()
    with pytest.raises(error, match=next(iter(changes))) as caught:
        options.set_printoptions(profile="short", **changes)
    assert fault_of(caught.value) is not None
    assert options.get_printoptions() == PrintOptions().get_printoptions()


def test_format_of_one_element_is_that_of_its_item():
    assert format_scalar(np.float32(1.5) * np.ones(()), ".3f", whole=str) == "1.500"
    assert format_scalar(np.array(3), "d", whole=str) == "3"
    assert format_scalar(np.array(1.5), "", whole=str) == "1.5"
    with pytest.raises(ValueError, match="Unknown format code 'd' for object of type 'float'"):
        format_scalar(np.array(1.5), "d", whole=str)


def test_format_of_others_takes_no_spec():
    assert format_scalar(np.ones(2), "", whole=lambda: "text") == "text"
    assert format_scalar(np.array(1.0), "", whole=lambda: "text", class_name="Parameter") == "text"
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Tensor.__format__$"):
        format_scalar(np.ones(1), ".3f", whole=str)
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Parameter.__format__$"):
        format_scalar(np.array(1.0), ".3f", whole=str, class_name="Parameter")


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e8, 1e8 + 1, 1000, 1e-4, 1, 99999.5, 5e-5, 0.5, 0.99995]


def _floats(choose, numbers, shape):
    values = numbers.standard_normal(shape) * 10.0 ** choose.choice([0, 0, 0, 1, 3, 8, 9, -2, -4, -8, 30, -40])
    kind = choose.randrange(6)
    if kind == 0:
        values = np.round(values)
    elif kind == 1:
        values = values * 10.0 ** numbers.integers(-5, 5, shape)
    elif kind == 2:
        values = np.where(numbers.random(shape) < 0.3, choose.choice(SPECIAL), values)
    elif kind == 3:
        values = np.full(shape, choose.choice(SPECIAL))
    return values


def _array(choose, numbers):
    shape = tuple(choose.choice([0, 1, 1, 2, 2, 3, 5, 7, 8, 12]) for _ in range(choose.randrange(5)))
    if len(shape) == 1 and choose.random() < 0.2:
        shape = (choose.choice([100, 1001]),)
    dtype = np.dtype(choose.choice(["float32", "float64", "int64", "int32", "uint8", "bool"]))
    if dtype.kind == "f":
        return np.asarray(_floats(choose, numbers, shape)).astype(dtype)
    top = choose.choice([2, 100, np.iinfo(np.int64).max])
    return np.asarray(numbers.integers(-top, top, shape)).astype(dtype)


def _changes(choose):
    options = {
        "precision": choose.choice([0, 1, 2, 6]),
        "threshold": choose.choice([0, 10, 100]),
        "edgeitems": choose.choice([0, 1, 2, 4]),
        "linewidth": choose.choice([1, 20, 79, 120]),
        "sci_mode": choose.choice([True, False]),
        "profile": choose.choice(["default", "short"]),
    }
    return {name: value for name, value in options.items() if choose.random() < 0.3}


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(20))
def test_random_arrays_print_as_in_pytorch(seed):
    torch = pytest.importorskip("torch")
    choose, numbers, options = random.Random(seed), np.random.default_rng(seed), PrintOptions()
    try:
        for _ in range(60):
            array, changes = _array(choose, numbers), _changes(choose) if seed % 2 else {}
            options.set_printoptions(**changes)
            torch.set_printoptions(**changes)
            tensor = torch.from_numpy(array.copy())
            suffixes = {}
            if array.dtype.kind == "f" and choose.random() < 0.5:
                tensor.requires_grad_()
                suffixes["requires_grad"] = True
                if choose.random() < 0.5:
                    tensor, suffixes["grad_fn"] = tensor.clone(), "CloneBackward0"
            assert shown(array, options, **suffixes) == repr(tensor), (array, options.get_printoptions())
    finally:
        torch.set_printoptions(profile="default")
