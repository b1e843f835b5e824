"""The interactive shell: which prompt a terminal gets, and the loop behind it."""

import os
import sys
from typing import TYPE_CHECKING

from gradsh.process.signals import answer
from gradsh.shell.host import Host, Writer, loop

if TYPE_CHECKING:
    from gradsh.run.script import RunOptions


def interactive(options: "RunOptions", writer: Writer | None = None) -> int:
    """Open the shell; return the exit status. `writer` gives scripts their expectations and reports (`save --expect`, `save FILE.html`).

    Ctrl-C belongs to the prompt and to the statement that runs; one that comes in between, to the statement that was typed.
    """
    limits = options.limits
    if limits.sandbox == "auto":
        options = options._replace(limits=limits._replace(sandbox="off"))  # a person's own words need no wall
    host = Host(options, writer, plain=is_plain(options.plain))
    before = answer(host.note_interrupt)
    try:
        return _open(host)
    finally:
        answer(before)


def _open(host: Host) -> int:
    if host.plain:
        from gradsh.shell.bare import open_bare

        return open_bare(host)
    from gradsh.shell.editor import open_editor

    return open_editor(host)


def is_plain(wanted: bool = False) -> bool:
    """Whether the terminal, or the person, wants no redrawing."""
    if not sys.stdout.isatty():  # `gradsh | tee log`: a screen has no business in a pipe
        return True
    asked = any(os.environ.get(name) for name in ("ACCESSIBLE", "NO_COLOR"))
    return wanted or asked or os.environ.get("TERM", "dumb") in {"dumb", "", "unknown"}


__all__ = ["Host", "interactive", "is_plain", "loop"]
