"""`history`: the statements that were run, listed, or written to a file as a transcript that can be pasted."""

from pathlib import Path
from typing import NamedTuple

from gradsh.commands.record import File, command
from gradsh.commands.save import write
from gradsh.commands.undo import in_story
from gradsh.contracts.state import Entry, State
from gradsh.view.shapes import Lines, View


class Report(NamedTuple):
    """The statements, oldest first, how many earlier ones are not listed, and the file they were written to."""

    entries: tuple[Entry, ...]
    omitted: int
    file: str = ""


@command(
    "history", "List the statements of the session; failed ones are marked. `--export FILE` writes a transcript.",
    examples=["x = ones(2)\nhistory\nhistory 1"],
)
def run(state: State, last: int | None = None, *, export: File | None = None) -> Report:
    """`history N` lists the last N. Fails with kind `io` where the file cannot be written."""
    entries = tuple(state.history)
    kept = entries if last is None else entries[len(entries) - last :] if 0 < last <= len(entries) else entries
    report = Report(kept, len(entries) - len(kept), str(export or ""))
    if report.file:
        report = report._replace(entries=tuple(one for one in kept if in_story(one)))
        write(Path(state.control.allowed_file(report.file)), transcript(report.entries), report.file)
    return report


def transcript(entries: tuple[Entry, ...]) -> str:
    """Return statements as a prompt shows them: pasted, they run again."""
    lines: list[str] = []
    for entry in entries:
        first, *rest = entry.text.split("\n")
        lines += [f"grad> {first}", *(f"....> {line}".rstrip() for line in rest), *(["....>"] if rest else [])]
    return "".join(line + "\n" for line in lines)


def view(report: Report) -> View:
    """Shape the list: line number, mark of a failure, text."""
    if report.file:
        return Lines((f"wrote {len(report.entries)} statements to {report.file}",))
    if not report.entries:
        return Lines(("no statement has run yet",))
    width = max(len(str(entry.line)) for entry in report.entries)
    lines = []
    for entry in report.entries:
        first, *rest = entry.text.split("\n")
        lines.append(f"{entry.line:>{width}} {'|' if entry.ok else '!'} {first}".rstrip())
        lines += [f"{'':>{width}} | {line}".rstrip() for line in rest]
    return Lines(tuple(lines))
