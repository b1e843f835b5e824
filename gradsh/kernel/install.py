"""`gradsh kernel install`: writes the description by which Jupyter finds and starts the kernel."""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

NAME = "gradsh"
NEEDS = 'the kernel needs ipykernel: pip install "gradsh[jupyter]"'
SPEC = {
    "argv": [sys.executable, "-m", "gradsh.kernel", "-f", "{connection_file}"],
    "display_name": "gradsh", "language": "grad", "interrupt_mode": "signal",
}


def install(*, user: bool, prefix: str | None) -> str:
    """Install for this Python's environment, for the user, or below a folder; return the folder that was written.

    Raises ImportError where Jupyter is not installed, OSError where the folder cannot be written.
    """
    import ipykernel  # noqa: F401  # without it the kernel cannot start
    from jupyter_client.kernelspec import KernelSpecManager

    with TemporaryDirectory() as folder:
        Path(folder, "kernel.json").write_text(json.dumps(SPEC, indent=2) + "\n", encoding="utf-8")
        where = None if user else prefix or sys.prefix
        return str(KernelSpecManager().install_kernel_spec(folder, NAME, user=user, prefix=where))
