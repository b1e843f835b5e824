"""What programs are written of: a file for each kind of statement, one phrase a line, or several lines a phrase with blank
lines between. Placeholders: {x} {y} tensors, {s} {r} ones that require grad, {a} {b} leaves, {d} a dim, {c} a number, {k} keepdim,
{n} {m} {F} fresh names, {t} a target.
"""

from pathlib import Path


def phrases(name: str) -> list[str]:
    """Return the phrases of a file."""
    text = Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
    return text.split("\n\n") if "\n\n" in text else text.split("\n")
