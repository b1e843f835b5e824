"""Dtypes that PyTorch has and gradsh does not: named, compared, refused where something would be computed in them."""

import pytest

from gradsh.api.torch import NAMESPACES
from gradsh.text.fault import fault_of

torch = NAMESPACES["torch"]
FOREIGN = ("float16", "bfloat16", "half", "complex64", "cfloat", "uint16", "float8_e4m3fn")


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_dtype_can_be_named_and_compared(name):
    dtype = torch.get(name)
    assert repr(dtype).startswith("torch.")
    assert torch.ones(2).dtype != dtype
    assert {"chosen": torch.float32, "other": dtype}["chosen"] is torch.float32


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize(
    "use",
    [
        lambda dtype: torch.ones(2, dtype=dtype), lambda dtype: torch.ones(2).to(dtype), lambda dtype: torch.ones(2).sum(dtype=dtype),
        lambda dtype: torch.tensor([1], dtype=dtype), torch.set_default_dtype,
        lambda dtype: torch.ones(2).type(dtype), lambda dtype: torch.nn.Linear(2, 2, dtype=dtype),
    ],
)
def test_to_compute_in_it_is_refused(name, use):
    with pytest.raises(TypeError) as caught:
        use(torch.get(name))
    if "default type" not in str(caught.value):  # integers and complex numbers are no default in PyTorch either
        assert "gradsh computes in float32" in str(caught.value)
        assert fault_of(caught.value).kind == "dtype"


@pytest.mark.parametrize("convert", [lambda x: x.half(), lambda x: x.bfloat16()])
def test_conversions_are_refused(convert):
    for value in (torch.ones(2), torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="gradsh computes in"):
            convert(value)


@pytest.mark.parametrize(("name", "most"), [("int8", 127), ("int16", 32767)])
def test_small_integers_wrap_and_promote(name, most):
    dtype = torch.get(name)
    x = torch.tensor([most], dtype=dtype)
    assert (x + 1).tolist() == [-most - 1]
    assert (x + 1).dtype is dtype
    assert (x + 1.0).dtype is torch.float32
    assert (x + torch.tensor([1])).dtype is torch.int64
    assert x.sum().dtype is torch.int64
    assert repr(x) == f"tensor([{most}], dtype=torch.{name})"
