"""The report of a run of several processes: each writes what it measured, and the last one puts the parts together."""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradsh.lens.summary import sums_of, where_of
from gradsh.probe.module_paths import ModulePaths
from gradsh.process.files import write_whole
from gradsh.report.page import report_text
from gradsh.view.shapes import Column, Row, Table

if TYPE_CHECKING:
    from gradsh.lens.watcher import Watcher


def rank() -> int | None:
    """Return the rank of this process, None where it is not one of several."""
    number = os.environ.get("RANK", "")
    return int(number) if number.isdigit() and world_size() > 1 else None


def world_size() -> int:
    """Return how many processes torchrun started."""
    number = os.environ.get("WORLD_SIZE", "1")
    return int(number) if number.isdigit() else 1


class Report:
    """The report of one run; `path` is its file, None where only the summary is wanted."""

    def __init__(self, path: str | None) -> None:
        self.path = None if path is None else Path(path)
        name = f"{os.environ.get('TORCHELASTIC_RUN_ID', 'run')}-{os.environ.get('MASTER_PORT', '0')}"
        self.home = Path(tempfile.gettempdir(), f"gradsh-{name}") if self.path is None else self.path
        with suppress(OSError):  # one that an earlier run has left
            self._part(rank() or 0).unlink()

    def _part(self, number: int) -> Path:
        return self.home.with_name(f"{self.home.name}.rank{number}")

    def write(self, watcher: "Watcher", names: ModulePaths, failed: str, run: dict[str, Any]) -> Table | None:
        """Write this process's part; return the table of all ranks where it is the last. Raises OSError."""
        mine = {**measured(watcher, names, failed), "run": run}
        if rank() is None:
            parts = [mine]
        else:
            write_whole(self._part(mine["rank"]), json.dumps(mine).encode())
            found = [self._part(number) for number in range(world_size())]
            if not all(part.exists() for part in found):
                return None
            taken = self.home.with_name(f"{self.home.name}.taken")
            try:
                found[0] = found[0].rename(taken)  # by one process alone, where several end at once
            except FileNotFoundError:
                return None
            parts = [json.loads(part.read_text(encoding="utf-8")) for part in found]
            for part in found:
                part.unlink(missing_ok=True)
        if self.path is not None:
            runs = [part.pop("run") for part in parts]
            for number, one in enumerate(runs if len(runs) > 1 else ()):
                one["name"] = f"{one['name']} (rank {number})"
            more = {"world_size": len(parts), "ranks": parts}
            as_page = self.path.suffix.lower() in {".html", ".htm"}
            write_whole(self.path, report_text(runs, as_page=as_page, more=more).encode())
        return table(parts) if len(parts) > 1 else None


def measured(watcher: "Watcher", names: ModulePaths, failed: str) -> dict[str, Any]:
    """Return what a process measured: passes, their seconds, the most bytes saved, and what saved them, by line and by module."""
    passes = watcher.passes
    by_line, by_module = sums_of(watcher, names)
    return {
        "rank": rank() or 0, "passes": len(passes.notes), "seconds": round(sum(note.seconds for note in passes.notes), 6),
        "most_saved": max((note.nbytes for note in passes.notes), default=0),
        "peak_at": where_of(watcher, passes.largest_place) if passes.largest else None,
        "saved_by_line": dict(by_line), "saved_by_module": dict(by_module), "failed": failed or None,
    }


def table(parts: list[dict[str, Any]]) -> Table:
    """Return a row for each rank."""
    columns = (
        Column("rank", "count"), Column("backwards", "count"), Column("seconds", "number"), Column("most saved", "bytes"), Column("failed"),
    )
    rows = tuple(
        Row((one["rank"], one["passes"], round(one["seconds"], 3), one["most_saved"], one["failed"] or "")) for one in parts
    )
    return Table(columns, rows)
