"""`load`: runs a script in this session."""

from pathlib import Path
from typing import NamedTuple

from gradsh.commands.record import File, command
from gradsh.contracts.state import State
from gradsh.process.files import read_text
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The file that was run."""

    file: str


@command("load", "Run a script in this session; its variables stay.", examples=["expect error io: load missing.grad"])
def run(state: State, file: File) -> Report:
    """Fails with kind `io` where the file cannot be read, with kind `other` where one of its statements fails."""
    name = str(file)
    path = Path(state.control.allowed_file(name))
    try:
        text = read_text(path)
    except UnicodeDecodeError:
        raise fail("io", f"cannot read {name}: it is not UTF-8 text", OSError) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        raise fail("io", f"cannot read {name}: {getattr(error, 'strerror', None) or error}", OSError) from None
    if not state.control.run_text(text, name):
        raise fail("other", f"a statement of {name} failed; the rest was not run")
    return Report(name)


def view(report: Report) -> View:
    """Say nothing: the script speaks for itself."""
    del report
    return Lines(())
