"""The interactive shell."""

from gradsh.shell.bare import interactive

__all__ = ["interactive"]
