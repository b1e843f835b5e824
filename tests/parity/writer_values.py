"""Statements about values: creating tensors, calculating, indexing, viewing, writing in place, printing."""

import warnings
from typing import Any

import torch

from tests.parity.phrases import phrases

ODD = phrases("odd")
UNARY = phrases("unary")
REDUCTIONS = phrases("reductions")
BINARY = phrases("binary")
INDEXING = phrases("indexing")
VIEWS = phrases("views")
WRITES = phrases("writes")
QUESTIONS = phrases("questions")
LOSSES = phrases("losses")


def creation(w: Any) -> None:
    """Make a leaf."""
    shape, name = w.shape(), w.fresh("x")
    needs = w.chance(0.6)
    flag, kind = ", requires_grad=True" if needs else "", w.rng.random()
    reduced = f", dtype=torch.{w.pick('bfloat16', 'float16')}" if w.reduced and w.chance(w.reduced) else ""
    text = f"torch.randn({shape}{reduced}{flag})"
    if kind < 0.2:
        text = f"torch.{w.pick('ones', 'zeros', 'rand')}({shape}{w.pick('', ', dtype=torch.float64')}{flag})"
    elif kind < 0.3:
        text = f"torch.tensor({[round(w.rng.uniform(-2, 2), 2) for _ in range(w.rng.randint(1, 4))]}{flag})"
    elif kind < 0.36:
        text = f"torch.randn({shape}, dtype=torch.float64{flag})"
    elif kind < 0.42:
        counted = f"torch.randint(0, 3, {shape})", f"torch.arange({w.pick(3, 4, 6)})"
        text = w.pick(*counted, f"torch.rand({shape}) > 0.5", "torch.tensor([0, 2, 1])")
    elif kind < 0.52:
        text = w.rng.choice(ODD)
        text += ".requires_grad_()" if needs else ""
    elif kind < 0.57:
        text = f"nn.Parameter(torch.randn({shape}))"
    elif kind < 0.60:
        text = f"torch.tensor({w.number()!r}{flag})"
    w.do(f"{name} = {text}")


def fill(w: Any, pattern: str, x: str | None) -> str | None:
    """Return a pattern with names and numbers put in; None where a name is missing."""
    if x is None:
        return None
    y = partner(w, x) if "{y}" in pattern else ""
    if "{t}" in pattern:
        y = like(w, x)
    if y is None:
        return None
    keep = w.pick("", "", ", keepdim=True")
    return pattern.format(x=x, y=y, t=y, d=w.dim(x), c=repr(w.number()), k=keep)


def partner(w: Any, x: str) -> str | None:
    """Return a tensor that calculates with another one, rarely any."""
    if w.chance(0.06):
        return w.tensor()  # type: ignore[no-any-return]
    shape = w.value(x).shape

    def fits(t: torch.Tensor) -> bool:
        try:
            return len(torch.broadcast_shapes(t.shape, shape)) >= 0
        except RuntimeError:
            return False

    return w.tensor(fits) or x


def like(w: Any, x: str) -> str:
    """Return a target of a tensor's shape."""
    shape = w.value(x).shape
    name = w.tensor(lambda t: t.shape == shape and t.is_floating_point())
    return name if name is not None and name != x else w.pick(f"torch.zeros_like({x})", f"torch.ones_like({x})", f"({x}.detach() * 0.5)")


def succeeds(w: Any, text: str) -> bool:
    """Whether an expression can be evaluated: tried on the side, on a copy of the random state."""
    state = torch.get_rng_state()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(text, dict(w.space))
    except Exception:  # noqa: BLE001
        return False
    finally:
        torch.set_rng_state(state)
    return True


def chosen(w: Any, patterns: tuple[str, ...], name: Any) -> str | None:
    """Return a filled pattern, mostly one that can be evaluated."""
    text = None
    for _ in range(6):
        text = fill(w, w.rng.choice(patterns), name())
        if text is not None and (succeeds(w, text) or w.chance(0.08)):
            return text
    return text


def expression(w: Any) -> None:
    """Bind a new value."""
    kind = w.rng.random()
    patterns = UNARY if kind < 0.36 else REDUCTIONS if kind < 0.52 else BINARY if kind < 0.8 else INDEXING
    text = chosen(w, patterns, w.floating if w.chance(0.9) else w.tensor)
    if text is not None:
        shown = w.chance(0.06)
        target = w.tensor() if w.chance(0.04) else w.fresh()
        w.do(f"print({text})" if shown else f"{target} = {text}")


def view(w: Any) -> None:
    """Bind a view, or several of a call that gives several."""
    if w.chance(0.1):
        x = w.floating(lambda t: t.dim() > 0 and 1 < t.shape[0] < 4)
        if x is not None:
            n, a, b = w.value(x).shape[0], w.fresh(), w.fresh()
            names = ", ".join([a, b, w.fresh()][:n])
            w.do(f"{names} = {w.pick(f'{x}.unbind()', f'{x}.split(1)', f'{x}', f'{x}.chunk({n})')}")
            return
    text = chosen(w, VIEWS, w.floating)
    if text is not None:
        w.do(f"{w.fresh()} = {text}")


def write(w: Any) -> None:
    """Write in place."""
    x = w.floating(None if w.chance(0.15) else lambda t: not (t.is_leaf and t.requires_grad))
    text = fill(w, w.rng.choice(WRITES), x)
    if text is not None and not _reads_what_it_writes(w, text):
        w.do(f"with torch.no_grad():\n    {text}" if w.chance(0.15) else text)


def _reads_what_it_writes(w: Any, text: str) -> bool:
    """Whether a product of matrices would be written over its own factors: what that gives depends on the processor's BLAS."""
    target, _, rest = text.partition(".addmm_(")
    if not rest:
        return False
    storages = {w.value(name).untyped_storage().data_ptr() for name in (target, rest.partition(",")[0])}
    return len(storages) == 1


def question(w: Any) -> None:
    """Print something."""
    text = fill(w, w.rng.choice(QUESTIONS), w.tensor())
    if text is not None:
        w.do(text)


def loss(w: Any) -> None:
    """Bind a loss."""
    text = chosen(w, LOSSES, lambda: w.floating(lambda t: t.dim() > 0))
    if text is not None:
        w.do(f"{w.fresh('loss')} = {text}")
