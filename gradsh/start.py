"""Decides what `gradsh` without a subcommand does: scripts, standard input, or the shell."""

import sys

from gradsh.batch import RunOptions, prepare, run


def start(options: RunOptions) -> int:
    """Run scripts, or the shell where a terminal is there and no script is named; return the exit status."""
    if not options.files and options.code is None and sys.stdin is not None and sys.stdin.isatty():
        from gradsh.shell import interactive

        return interactive(options)
    prepare()
    return run(options)
