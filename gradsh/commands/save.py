"""`save`: writes the session as a script that runs, with `--expect` as a golden test, or as a report."""

from pathlib import Path
from typing import NamedTuple

from gradsh.commands.record import File, command
from gradsh.commands.undo import in_story, is_look
from gradsh.contracts.state import Entry, State
from gradsh.process.files import write_whole
from gradsh.text.fault import fail
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The file, how many statements it has, and how many failed ones were removed."""

    file: str
    statements: int
    failed: int
    form: str = "grad"


FORMS = {".html": "html", ".htm": "html", ".json": "json"}
"""Endings of files that get a report, and its form."""


@command(
    "save",
    "Write the statements of the session to a file, as a script. `--expect` adds their output, as a golden test. "
    "A file that ends in .html or .json gets a report: a page that plays the session, or its data.",
    examples=["x = ones(2)", "expect error io: save session.grad"],
)
def run(state: State, file: File, *, expect: bool = False) -> Report:
    """Writes the statements that succeeded; with `--expect`, and in a report, also those that failed.

    `--expect` and reports run the statements again, in a session of their own.

    Fails with kind `io` where the file cannot be written.
    """
    name = str(file)
    path = Path(state.control.allowed_file(name))
    form = FORMS.get(path.suffix.lower(), "grad")
    text, kept, left_out = script_of(state, failed=expect or form != "grad")
    if expect or form != "grad":
        text = state.control.run_anew(text, form)
    write(path, text, name)
    if form == "grad":
        state.extras["saved"] = len(state.history)
    return Report(name, kept, left_out, form)


def script_of(state: State, *, failed: bool) -> tuple[str, int, int]:
    """Return the session as a script, with the statements that failed (by themselves) or without; and how many it has and leaves out."""
    entries = [entry for entry in state.history if in_story(entry)]
    kept = [entry for entry in entries if (failed and not entry.cut) or entry.ok]
    text = "#!/usr/bin/env gradsh\n" + "".join(f"{entry.text}\n" for entry in spaced(kept))
    return text, len(kept), len(entries) - len(kept)


def unsaved(state: State) -> list[Entry]:
    """Return the statements that passed since the session was written to a file, looks left out."""
    later = state.history[state.extras.get("saved", 0) :]
    return [entry for entry in later if entry.ok and in_story(entry) and not is_look(entry)]


def write(path: Path, text: str, name: str) -> None:
    """Write a file, whole or not at all. Raises (kind `io`) where it cannot be written."""
    try:
        write_whole(path, text.encode())
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        raise fail("io", f"cannot write {name}: {getattr(error, 'strerror', None) or error}", OSError) from None


def spaced(entries: list[Entry]) -> list[Entry]:
    """Return the entries with a blank line after each block, as a script needs to end one."""
    return [entry._replace(text=entry.text + "\n") if "\n" in entry.text else entry for entry in entries]


def view(report: Report) -> View:
    """Shape the answer."""
    noun = "statement" if report.statements == 1 else "statements"
    failed = f"; {report.failed} failed, not written" if report.failed else ""
    what = "" if report.form == "grad" else "a report of "
    return Lines((f"wrote {what}{report.statements} {noun} to {report.file}{failed}",))
