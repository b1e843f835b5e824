"""Dtypes that PyTorch has and gradsh does not: named, compared, refused where something would be computed in them."""

import pytest

from gradsh.api.torch import NAMESPACES
from gradsh.text.fault import fault_of

torch = NAMESPACES["torch"]
FOREIGN = ("complex64", "cfloat", "uint16", "float8_e4m3fn")


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


# --- reduced precision -------------------------------------------------------------------------------------------

REDUCED = (torch.float16, torch.bfloat16)


@pytest.mark.parametrize("dtype", REDUCED)
def test_each_operation_rounds_its_result_once(dtype):
    torch.manual_seed(0)
    x, y = torch.randn(50, dtype=dtype), torch.randn(50, dtype=dtype)
    for operation in (torch.add, torch.mul, torch.div, torch.maximum):
        assert operation(x, y).dtype is dtype
        assert operation(x, y).equal(operation(x.float(), y.float()).to(dtype))
    assert x.sum().equal(x.float().sum().to(dtype))
    assert (x * 0.1).equal((x.float() * 0.1).to(dtype))  # the number is not rounded before
    assert (x + 0.1).equal((x.float() + torch.tensor(0.1).to(dtype).float()).to(dtype))  # here it is


def test_bfloat16_is_rounded_to_even_in_its_eighth_bit():
    rounded = torch.tensor([1.00390625, 1.01171875, 1 + 2**-7, float("inf"), 3e38]).bfloat16()
    assert rounded.tolist() == [1.0, 1.015625, 1.0078125, float("inf"), 3.00405527047391e38]
    assert str(torch.tensor([0.1, float("nan")], dtype=torch.bfloat16)) == "tensor([0.1001,    nan], dtype=torch.bfloat16)"


@pytest.mark.parametrize("dtype", REDUCED)
def test_gradients_have_the_dtype_of_what_they_are_of(dtype):
    x, w = torch.ones(3, dtype=dtype, requires_grad=True), torch.full((3,), 0.1, requires_grad=True)
    for _ in range(2):
        (x.float() * w).sum().backward()
        (x * 0.3).sum().backward()
    assert (x.grad.dtype, w.grad.dtype, w.grad.tolist()) == (dtype, torch.float32, [2.0] * 3)
    assert x.grad.equal(x.grad.float().to(dtype))  # sums of gradients are rounded, too
    assert (x.nbytes, x.element_size(), x.untyped_storage().nbytes()) == (6, 2, 6)


def test_every_write_rounds():
    x = torch.zeros(4, dtype=torch.bfloat16)
    x[0] = 0.1
    x[1:3] = torch.tensor([0.2, 0.3])
    x.add_(torch.full((4,), 0.001))
    x.data.mul_(1.7)
    torch.nn.init.normal_(y := torch.empty(64, dtype=torch.bfloat16))
    optimizer = torch.optim.Adam([z := torch.nn.Parameter(torch.ones(5, dtype=torch.bfloat16))], lr=0.013)
    (z * z).sum().backward()
    optimizer.step()
    for one in (x, y, z.detach(), optimizer.state[z]["exp_avg"]):
        assert one.dtype is torch.bfloat16
        assert one.equal(one.float().bfloat16())


def test_what_numpy_has_no_dtype_for_is_told():
    assert torch.ones(2).half().numpy().dtype == "float16"
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        torch.ones(2).bfloat16().numpy()
    with pytest.raises(NotImplementedError, match="\"cholesky_cpu\" not implemented for 'Half'"):
        torch.linalg.cholesky(torch.eye(2).half())


def test_anomaly_detection_does_not_end_what_else_looks_at_operations():
    """Autocast goes on after a block that detects anomalies."""
    x = torch.ones(2, 2)
    with torch.autocast("cpu"):
        with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly():
            pass
        for _ in range(20):
            assert (x @ x).dtype is torch.bfloat16
    assert (x @ x).dtype is torch.float32


def test_muon_rounds_what_it_writes():
    p = torch.nn.Parameter(torch.arange(12.0).reshape(4, 3).bfloat16() / 7)
    optimizer = torch.optim.Muon([p], lr=0.02)
    (p * p).sum().backward()
    optimizer.step()
    assert p.detach().equal(p.detach().float().bfloat16())
