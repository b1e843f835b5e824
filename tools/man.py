"""Writes the man page from the records of the command line: `python -m tools.man` (`make docs` does)."""

from pathlib import Path

from gradsh.cli.app import described
from gradsh.cli.manual import man
from gradsh.version import __version__

PAGE = Path(__file__).parents[1] / "docs" / "gradsh.1"


def page() -> str:
    """Return the page of this version."""
    return man(described(), __version__)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
