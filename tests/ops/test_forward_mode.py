"""The tangents of the recorded calls are PyTorch's, and what PyTorch refuses is refused in its words."""

import pytest
from oracle_walk import load

pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
CALLS = load()
NAMES = [name for name in dict.fromkeys(call["op"] for call in CALLS) if name != "svd"]  # whose vectors' signs LAPACK leaves open
OTHERWISE = {
    "binary_cross_entropy": "PyTorch cannot follow both the input and the weight", "soft_margin_loss": "nor the input and the target",
    "binary_cross_entropy_with_logits": "as binary_cross_entropy", "batch_norm": "PyTorch refuses running averages with tangents",
}


@pytest.mark.parametrize("name", NAMES)
def test_tangents_are_those_of_pytorch(name):
    from forward_mode_walk import differences

    found = [one for call in CALLS if call["op"] == name for one in differences(call)]
    if name in OTHERWISE:
        assert found, f"{name} agrees with PyTorch now: take it off the list"
    else:
        assert not found, "\n".join(found)
