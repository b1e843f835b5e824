"""Ten training programs as people write them, each with a classic mistake: the story names its lines, and the fix that is shown works."""

from pathlib import Path

import pytest

from tests.lens.traced import trace

pytestmark = pytest.mark.parity

PROGRAMS = Path(__file__).parent / "programs"
LINES = {
    "a2c": (11, 31, 34), "cnn": (12, 13, 24), "dqn": (10, 33, 34), "gan": (12, 18, 22), "lm": (15, 16, 46), "lstm": (15, 29),
    "mlp": (8, 13), "simclr": (10, 11, 20), "vae": (14, 16, 35), "wgan": (10, 11, 19),
}
"""The lines of each story: where it was saved, freed or written, and needed."""
NOT_MENDED = {"dqn"}
"""A value with a history in a memory of experiences: no single edit that is offered mends it."""


@pytest.mark.parametrize("name", sorted(LINES))
def test_the_mistake_is_named_and_its_fix_works(name: str) -> None:
    pytest.importorskip("torch")
    ran = trace("--fix", "--plain", f"{name}.py", folder=PROGRAMS)
    assert ran.status == 1
    story, _, fix = ran.err.partition("PyTorch says:")
    numbered = [line.partition("|")[0].strip() for line in story.splitlines()]
    assert {str(line) for line in LINES[name]} <= set(numbered)
    assert ("tried in a copy of the program: the error is gone" in fix) is (name not in NOT_MENDED)
