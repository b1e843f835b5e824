"""The examples of PyTorch's docstrings do here what they do there, those of `known.txt` aside."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

from tests.conformance.docstrings import examples, judged, offered  # noqa: E402  (needs torch)

KNOWN = (Path(__file__).parent / "known.txt").read_text(encoding="utf-8").split()
EXAMPLES = [one for one in examples() if one.why is None and offered(one.name)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.name)
def test_example(example, request):
    verdict, detail = judged(example)
    if verdict not in {"holds", "differs"}:
        pytest.skip(verdict)
    if example.name in KNOWN:
        request.node.add_marker(pytest.mark.xfail(strict=True, reason="known to differ"))
    assert verdict == "holds", detail


def test_known_examples_exist():
    assert set(KNOWN) <= {one.name for one in EXAMPLES}
