"""Statements about gradients: passes of every kind, attributes, blocks with their modes, hooks, functions, second derivatives."""

from typing import Any

from tests.parity import writer_values
from tests.parity.phrases import phrases

PASSES = phrases("passes")
GRADS = phrases("grads")
ATTRIBUTES = phrases("attributes")
HEADS = phrases("heads")
HOOKS = phrases("hooks")
HIGHER = phrases("higher")
FUNCTIONS = phrases("functions")


def filled(w: Any, pattern: str) -> str | None:
    """Return a pattern with tensors put in; None where one is missing."""
    words: dict[str, Any] = {"c": w.pick(2, 0.5, 3.0), "flag": w.pick(True, False)}
    wild = w.chance(0.06)
    for key, name in (("s", w.needing), ("r", w.needing), ("a", w.leaf), ("b", w.leaf), ("x", w.floating)):
        if f"{{{key}}}" in pattern:
            words[key] = w.tensor() if wild else name() or w.tensor()
            if words[key] is None:
                return None
    for key, stem in (("n", "v"), ("m", "v"), ("F", "Fn")):
        if f"{{{key}}}" in pattern:
            words[key] = w.fresh(stem)
    return pattern.format(**words)


def caught(w: Any, text: str) -> str:
    """Return a statement, now and then one that prints its failure."""
    if not w.chance(0.08):
        return text
    body = text.replace("\n", "\n    ")
    return f"try:\n    {body}\nexcept (RuntimeError, ValueError, TypeError, IndexError) as e:\n    print(type(e).__name__, e)"


def passing(w: Any) -> None:
    """Run a pass."""
    if w.chance(0.3):
        text = filled(w, w.rng.choice(GRADS))
        text = None if text is None else f"{w.fresh('g')} = {text}"
    else:
        text = filled(w, w.rng.choice(PASSES))
    if text is not None:
        w.do(caught(w, text))


def attribute(w: Any) -> None:
    """Ask or change an autograd attribute."""
    text = filled(w, w.rng.choice(ATTRIBUTES))
    if text is None:
        return
    if "copy.deepcopy" in text and "copy" not in w.space:
        w.do("import copy")
    w.do(caught(w, text))


def hook(w: Any) -> None:
    """Register a hook."""
    text = filled(w, w.rng.choice(HOOKS))
    if text is not None:
        w.do(text)


def function(w: Any) -> None:
    """Define a function or an autograd.Function, and call it."""
    text = filled(w, w.rng.choice(FUNCTIONS))
    if text is None:
        return
    if "torch.utils.checkpoint" in text:
        w.do("import torch.utils.checkpoint")
    w.do(text)


def higher(w: Any) -> None:
    """Use functional derivatives, or a gradient of a gradient."""
    if w.chance(0.5):
        a, s, g = w.leaf(), w.needing(), w.fresh("g")
        if a is None:
            return
        w.do(f"{g}, = torch.autograd.grad(({s} * {s}).sum(), {a}, create_graph=True, allow_unused=True)")
        again = f"{w.fresh('h')} = torch.autograd.grad({g}.sum(), {a}, allow_unused=True)"
        w.do(w.pick(f"({g} ** 2).sum().backward()", again, f"({g}.norm() + {s}.sum()).backward()"))
        return
    text = filled(w, w.rng.choice(HIGHER))
    if text is not None:
        w.do(f"{w.fresh('j')} = {text}")


def block(w: Any) -> None:
    """Write a block of a few statements, in a mode, a loop or a try."""
    head = filled(w, w.rng.choice(HEADS))
    if head is None:
        return
    before, inner = len(w.lines), []
    for _ in range(w.rng.randint(1, 3)):
        text = statement(w, passes="inference" not in head)
        if text is not None:
            inner.append(text)
    del w.lines[before:]
    if inner:
        body = "\n".join(inner).replace("\n", "\n    ")
        tail = "\nexcept (RuntimeError, IndexError, TypeError, ValueError) as e:\n    print(e)" if head == "try:" else ""
        w.do(f"{head}\n    {body}{tail}")


def statement(w: Any, *, passes: bool) -> str | None:
    """Return one statement for a block."""
    kind = w.rng.random()
    if kind < 0.5:
        patterns = writer_values.UNARY if kind < 0.25 else writer_values.BINARY if kind < 0.4 else writer_values.VIEWS
        text = writer_values.chosen(w, patterns, w.floating)
        return None if text is None else f"{w.fresh()} = {text}"
    if kind < 0.7:
        return writer_values.fill(w, w.rng.choice(writer_values.WRITES), w.floating())
    if kind < 0.85 and passes:
        return filled(w, w.rng.choice(PASSES))
    return writer_values.fill(w, w.rng.choice(writer_values.QUESTIONS), w.tensor())
