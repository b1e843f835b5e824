"""`gradsh run --engine torch`: runs scripts one after the other on PyTorch, in this process."""

import os
import sys
from functools import partial

from gradsh.lens import missing
from gradsh.run.script import RunOptions, refused, run


def run_scripts(options: RunOptions, device: str) -> int:
    """Run the scripts of the options; return the exit status, the largest of theirs."""
    if lacking := missing():
        sys.stderr.write(f"gradsh: {lacking}\n")
        return 2
    import torch

    try:
        torch.empty(0, device=device or "cpu")
    except (RuntimeError, AssertionError) as error:
        sys.stderr.write(f"gradsh run: --device {device}: {str(error).splitlines()[0]}\n")
        return 2
    from gradsh.lens.engine import TorchSession

    options = options._replace(limits=options.limits._replace(sandbox="off"))
    if refused(options):
        return 2
    status = 0
    for name in options.files or (None,):
        if name is not None and name != "-":
            sys.path[0] = os.path.dirname(os.path.realpath(name))  # noqa: PTH120  # what stands beside it can be imported
        status = max(status, run(options if name is None else options._replace(files=(name,)), partial(TorchSession, device=device)))
        if status and options.fail_fast:
            break
    return status
