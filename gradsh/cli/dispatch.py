"""Decides what `gradsh` without a subcommand does: scripts, standard input, or the shell."""

import sys

from gradsh.process.blas_threads import hold
from gradsh.run.script import UNREADABLE, RunOptions, prepare, refused, run


def start(options: RunOptions) -> int:
    """Run scripts, or the shell where it is to stay or a terminal is there and no script is named; return the exit status."""
    hold()
    if refused(options):
        return UNREADABLE
    if options.stays or (not options.files and options.code is None and sys.stdin is not None and sys.stdin.isatty()):
        from gradsh.golden.anew import anew
        from gradsh.shell import interactive

        return interactive(options, anew)
    prepare()
    if len(options.files) > 1:
        from gradsh.run.scripts import run_many

        return run_many(options)
    return run(options)
