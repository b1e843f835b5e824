"""Writes random programs as people write PyTorch: each statement is chosen by what the ones before it made of the variables.

PyTorch runs along while a program is being written, so that shapes, dtypes and flags are known and most statements succeed; now
and then one is wild. What is written: values (`writer_values.py`), passes and hooks (`writer_passes.py`), models and training
(`writer_training.py`). The same seed writes the same program.
"""

import contextlib
import io
import random
import warnings
from typing import Any

import torch

from tests.parity import writer_passes, writer_training, writer_values

PRELUDE = ("import torch", "import math", "import torch.nn as nn", "import torch.nn.functional as F")
LARGEST = 600
SHAPES = ((), (1,), (3,), (4,), (2, 3), (3, 3), (1, 3), (3, 1), (2, 3, 4), (2, 1, 3), (4, 2), (0,), (0, 3), (2, 2, 3, 2))


class Writer:
    """One program being written."""

    def __init__(self, seed: int, reduced: float = 0.0) -> None:
        self.rng = random.Random(seed)
        self.reduced = reduced
        """The share of the plain leaves that are of float16 or bfloat16."""
        self.space: dict[str, Any] = {"__name__": "__main__"}
        self.lines: list[str] = []
        self.count = 0
        for line in (*PRELUDE, f"torch.manual_seed({seed % 1000})"):
            self.do(line)

    # --- writing

    def do(self, text: str) -> bool:
        """Add a statement and run it; whether it succeeded."""
        self.lines.append(text)
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            try:
                exec(text, self.space)
            except Exception:  # noqa: BLE001  (programs fail, and go on)
                return False
        return True

    def fresh(self, stem: str = "v") -> str:
        """Return a name that is not taken."""
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, share: float) -> bool:
        """Tell whether something that happens with this share happens."""
        return self.rng.random() < share

    def pick(self, *choices: Any) -> Any:
        """Return one of several."""
        return self.rng.choice(choices)

    # --- what there is

    def tensors(self, want: Any = None) -> list[str]:
        """Return the names of the tensors that fit, and are fit to go on with."""
        found = []
        for name, value in self.space.items():
            if isinstance(value, torch.Tensor) and value.numel() <= LARGEST and self.usable(value):
                if value.is_inference() and self.chance(0.9):  # operations on these count PyTorch's inner writes
                    continue
                with contextlib.suppress(RuntimeError):
                    if want is None or want(value):
                        found.append(name)
        return found

    def usable(self, value: torch.Tensor) -> bool:
        """Whether a tensor's values are not yet beyond what tells anything."""
        if not value.is_floating_point() or not value.numel():
            return True
        with torch.no_grad():
            return bool(value.detach().abs().max() < 1e4)

    def tensor(self, want: Any = None) -> str | None:
        """Return the name of a tensor that fits, mostly a recent one; None where there is none."""
        names = self.tensors(want)
        if not names:
            return None
        return self.rng.choice(names[-5:] if self.chance(0.7) else names)

    def floating(self, want: Any = None) -> str | None:
        """Return the name of a floating point tensor."""
        return self.tensor(lambda t: t.is_floating_point() and (want is None or want(t)))

    def needing(self, want: Any = None) -> str | None:
        """Return the name of a tensor that requires grad."""
        return self.tensor(lambda t: t.requires_grad and (want is None or want(t)))

    def leaf(self, want: Any = None) -> str | None:
        """Return the name of a leaf that requires grad."""
        return self.tensor(lambda t: t.requires_grad and t.is_leaf and (want is None or want(t)))

    def inner(self) -> str | None:
        """Return the name of a tensor that has a grad_fn."""
        return self.tensor(lambda t: t.grad_fn is not None)

    def value(self, name: str) -> Any:
        """Return what a name stands for."""
        return self.space[name]

    def all(self, kind: Any) -> list[str]:
        """Return the names bound to something of a kind."""
        return [name for name, value in self.space.items() if isinstance(value, kind)]

    # --- small parts

    def dim(self, name: str) -> int:
        """Return a dimension of a tensor, rarely one that it lacks."""
        n = self.value(name).dim()
        if self.chance(0.02):
            return n + self.rng.randrange(2)
        return self.rng.randrange(-n, n) if n else self.pick(0, -1)

    def shape(self) -> tuple[int, ...]:
        """Return a shape."""
        return self.rng.choice(SHAPES[:-4] if self.chance(0.7) else SHAPES)

    def number(self) -> Any:
        """Return a number to calculate with."""
        return self.pick(2, 0.5, -1, 3., 1.5, -0.3, 0.1, 2, 1)

    def flag(self, name: str, default: Any = None) -> str:
        """Return `, name=True` or the like, or nothing."""
        return self.pick("", f", {name}=True", f", {name}={default}" if default is not None else "")


def start(w: Writer) -> None:
    """Make the first leaves."""
    for _ in range(w.rng.randint(1, 3)):
        writer_values.creation(w)
    if w.floating() is None or w.needing() is None:
        w.do(f"{w.fresh('x')} = torch.randn{w.pick((2, 3), (3,), (3, 3))}.requires_grad_()")


FAMILIES = (
    (34, writer_values.expression), (8, writer_values.write), (3, writer_values.creation), (5, writer_values.view),
    (3, writer_values.question), (10, writer_passes.passing), (5, writer_passes.attribute), (3, writer_passes.block),
    (2, writer_passes.hook), (2, writer_passes.function), (2, writer_values.loss), (2, writer_training.layer),
    (1, writer_passes.higher), (1, writer_training.random_numbers),
)
WEIGHTS = [weight for weight, _ in FAMILIES]
CALLS = [call for _, call in FAMILIES]


def write(seed: int, reduced: float = 0.0) -> list[str]:
    """Return the statements of a seed's program, in which this share of the plain leaves is of float16 or bfloat16."""
    w = Writer(seed, reduced)
    torch.set_grad_enabled(True)
    if w.chance(0.15):
        writer_training.training(w)
    else:
        start(w)
        length = w.rng.randint(5, 36)
        while len(w.lines) < length + len(PRELUDE):
            w.rng.choices(CALLS, WEIGHTS)[0](w)
    for name in w.rng.sample(every := w.tensors(lambda t: t.requires_grad), min(len(every), 2)):
        w.do(f"{name}.sum().backward()" if w.chance(0.8) else f"print({name})")
    return w.lines
