"""No script reaches memory that is not its own, or ends the process through numpy."""

import pytest

from tests.robustness.test_bounds import kinds, run

BEFORE = "import numpy as np\nF = torch.nn.functional\n"
REFUSED = """
torch.ones(2).as_strided((100000,), (1,))
torch.ones(2).as_strided((2,), (-100000,))
torch.ones(2).as_strided((2,), (1,), 100000)
torch.ones(2).as_strided((2,), (1,), -10)
torch.ones(10).unfold(0, 20, 1)
torch.ones(10).unfold(0, 3, -1)
torch.ones(10).unfold(0, -3, 1)
F.conv2d(ones(1, 1, 5, 5), ones(1, 1, 3, 3), stride=0)
F.conv2d(ones(1, 1, 5, 5), ones(1, 1, 3, 3), stride=-1)
F.conv2d(ones(1, 1, 5, 5), ones(1, 1, 3, 3), dilation=-1)
F.conv2d(ones(1, 1, 5, 5), ones(1, 1, 8, 8))
F.max_pool2d(ones(1, 1, 5, 5), 3, dilation=100)
F.max_pool2d(ones(1, 1, 5, 5), 3, stride=-2)
F.avg_pool2d(ones(1, 1, 5, 5), -3)
F.unfold(ones(1, 1, 5, 5), 30)
F.unfold(ones(1, 1, 5, 5), 3, stride=-1)
F.fold(ones(1, 9, 9), (-5, 5), 3)
torch.zeros(3).index_select(0, tensor([10**15]))
torch.zeros(3).gather(0, tensor([-100]))
torch.zeros(3).scatter_(0, tensor([100]), 1.0)
torch.zeros(3).put_(tensor([100]), tensor([1.]))
torch.zeros(3).take(tensor([100]))
F.embedding(tensor([100]), ones(3, 3))
F.cross_entropy(ones(2, 3), tensor([100, 0]))
np.array([1, 2], dtype=object)
np.array([[], None])
np.zeros(3, dtype='O')
np.ones(3).astype('O')
np.ones(3).cumsum(dtype=object)
np.full(3, None)
np.stack([np.ones(2), None])
ones(2).numpy().view('f8')
x = ones(2).numpy(); x.dtype = 'f8'
x = ones(2).numpy(); x.strides = (800,)
x = ones(2).numpy(); x.shape = (1000,)
x = ones(2).numpy(); x.data = None
""".strip().splitlines()


@pytest.mark.parametrize("line", REFUSED)
def test_is_refused(line: str) -> None:
    assert len(kinds(run(BEFORE + line))) == 1


def test_the_shape_of_an_array_is_not_the_tensors() -> None:
    events = run("t = ones(2)\nx = t.numpy()\nx.shape = (2, 1)\nx[0] = 5\nt.shape == (2,) and t[0].item() == 5")
    assert kinds(events) == []
    assert events[-2].text == "True"  # type: ignore[attr-defined]
