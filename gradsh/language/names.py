"""Static facts about the names of a tree: what each scope binds, what it reads from outside, and what it may declare."""

from gradsh.language.tree import Program


def check_declarations(program: Program) -> None:
    """Check `global` and `nonlocal`."""
