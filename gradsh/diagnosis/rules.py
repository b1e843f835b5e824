"""Which rules look for the fixes of a failure, by its kind, and what is said where none of them finds one."""

import re
from collections.abc import Callable

from gradsh.diagnosis.case import Case
from gradsh.diagnosis.fixes import Finder
from gradsh.diagnosis.fixes_freed import freed
from gradsh.diagnosis.fixes_history import no_grad
from gradsh.diagnosis.fixes_inplace import leaf_inplace, view_inplace
from gradsh.diagnosis.fixes_leaves import not_leaf
from gradsh.diagnosis.fixes_simple import SIMPLE
from gradsh.diagnosis.fixes_values import VALUES
from gradsh.diagnosis.fixes_version import version
from gradsh.text.fix import Fix

RULES: dict[str, Callable[[Finder], None]] = {
    "freed": freed, "version": version, "no_grad": no_grad, "leaf_inplace": leaf_inplace, "view_inplace": view_inplace,
    "not_leaf": not_leaf, **SIMPLE, **VALUES,
}
GUESSED = frozenset({"shape", "dtype", "value", "index"})
"""Kinds of which only what was tried says what is right."""
ADVICE = {
    "freed": "run the forward again before the second backward, or keep the graph with `retain_graph=True` in the first",
    "version": "a saved tensor must not change: run the forward again after the write",
    "scalar": "reduce it to one number first, with `.sum()` or `.mean()`",
    "leaf_inplace": "put an update in `with torch.no_grad():`; write a computation out of place",
    "view_inplace": "write to a copy: `.clone()` the view first",
    "not_leaf": "make it a leaf where it is created: `.detach().requires_grad_()`",
    "unused": "pass `allow_unused=True` to get None for it, or use it in the computation",
}
"""By kind, what to do where no edit was seen to work."""


def advice_of(case: Case) -> list[Fix]:
    """Return what is to be said where no edit was seen to work."""
    cut = next((one for one in case.cause.cuts if getattr(one, "cut", False)), None)
    if case.story == "no_grad" and cut is not None:
        line = cut.span.line
        if any(name in case.text(cut.span, cut.source) for name in (".sample(", "multinomial(", "bernoulli(")):
            return [Fix(f"the sample of line {line} has no gradient: use `rsample`, or multiply the loss by its log-probability")]
        return [Fix(f"the result of line {line} has no graph: the operation has no derivative, or grad mode is off")]
    constant = next((one for one in case.cause.cuts if case.story == "no_grad" and _kept_graph(case.text(one.span, one.source))), None)
    if constant is not None:
        return [Fix(f"the gradient of line {constant.span.line} is constant there, as of a linear function: its derivative is zero, "
                    "`torch.zeros_like` of the input")]
    if "You must implement either the backward" in case.message:
        return [Fix("write `backward` in the class of the Function: it returns one gradient for each argument of `forward`")]
    return [Fix(ADVICE[case.story])] if case.story in ADVICE else []


def _kept_graph(text: str) -> bool:
    """Whether a text computes gradients that can be differentiated again, where they depend on anything."""
    return re.search(r"\bgrad\(.*create_graph\s*=\s*True", text, re.DOTALL) is not None


def fixes_of(case: Case) -> list[Fix]:
    """Return the fixes of a failure, PyTorch's before gradsh's own, the most likely first."""
    rule = RULES.get(case.story)
    if rule is None:
        return []
    finder = Finder(case)
    rule(finder)
    guess = case.story in GUESSED
    return [fix._replace(guess=guess or fix.guess) for fix in sorted(finder.fixes, key=lambda fix: fix.here)]
