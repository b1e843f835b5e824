"""A line that writes in place, written so that it makes a new tensor instead."""

import re

_AUGMENTED = re.compile(r"(\s*)(\w+)\s*(\+|-|\*|/|\*\*|@)=\s*(.+)")
_METHOD = re.compile(r"(\s*)(\w+)\.([a-z]\w*)_\((.*)\)")
_FILLING = {"zero": "torch.zeros_like({0})", "fill": "torch.full_like({0}, {1})", "copy": "({1}).clone()"}
"""Writes that have no form of the same name out of place."""
_NOWHERE_ELSE = {"normal", "uniform", "random", "bernoulli", "exponential", "set", "resize", "requires_grad", "detach"}


def out_of_place(line: str) -> tuple[str, str] | None:
    """Return the variable that a line writes in place, and the line that computes a new one instead."""
    if found := _AUGMENTED.fullmatch(line):
        value = found[4] if re.fullmatch(r"[\w.]+(\(.*\))?", found[4]) else f"({found[4]})"
        return found[2], f"{found[1]}{found[2]} = {found[2]} {found[3]} {value}"
    found = _METHOD.fullmatch(line)
    if found is None or found[3] in _NOWHERE_ELSE:
        return None
    value = _FILLING[found[3]].format(found[2], found[4]) if found[3] in _FILLING else f"{found[2]}.{found[3]}({found[4]})"
    return found[2], f"{found[1]}{found[2]} = {value}"
