"""The page at the end of `gradsh trace --summary`: passes, bytes saved by line and module, the peak, what grows, what stands still."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from gradsh.commands.leaks import run as leaks_of
from gradsh.commands.leaks import view as leaks_view
from gradsh.engine.graph.types import Location
from gradsh.lens import older
from gradsh.lens.looks import look
from gradsh.lens.passes import PassNote
from gradsh.probe.budget import Sums, sums
from gradsh.probe.module_paths import ModulePaths
from gradsh.probe.modules import is_module, parameters_of
from gradsh.render.style import style_for
from gradsh.render.text import lines_of
from gradsh.view.shapes import Column, Group, Lines, Row, Table, View

if TYPE_CHECKING:
    from gradsh.contracts.state import State
    from gradsh.lens.mirror import World
    from gradsh.lens.watcher import Watcher

_MOST = 12


def write_summary(watcher: "Watcher", variables: Mapping[str, object], stream: TextIO, *, plain: bool) -> None:
    """Write the page."""
    parts: list[View] = []

    def run(state: "State", world: "World") -> Any:
        names = world.module_paths(state.variables)
        parts.append(_passes(watcher))
        parts.extend(_saved(watcher, names))
        parts.append(Lines(tuple(_hints(watcher, state.variables))))
        return leaks_of(state)

    found = look(watcher, "leaks", run, variables)
    style = style_for(stream, plain=plain)
    page = Group((*parts[:-1], leaks_view(found.report), parts[-1]))
    stream.write("".join(f"{line}\n" for line in ("--- gradsh ---", *lines_of(page, style))))
    stream.flush()


def where_of(watcher: "Watcher", place: Location) -> str:
    """Return a place as its file, line and text."""
    line = watcher.line_of(place)
    if line is None:
        return "no line of the program"
    source = watcher.sources.of(place[1]).source
    return f"{source.name.rpartition('/')[2]}:{line}  {source.line(line).strip()[:50]}"


def _passes(watcher: "Watcher") -> View:
    """Show the passes by the line that ran them: how many, seconds, the most bytes, and whether they grew."""
    groups: dict[str, list[PassNote]] = {}
    for note in watcher.passes.notes:
        groups.setdefault(where_of(watcher, note.place), []).append(note)
    rows = tuple(
        Row((where, len(notes), round(sum(note.seconds for note in notes), 3), max(note.nbytes for note in notes), _growth(notes)))
        for where, notes in groups.items()
    )
    columns = (
        Column("backward from"), Column("number", "count"), Column("seconds", "number"), Column("most saved", "bytes"), Column("grew"),
    )
    return Table(columns, rows, empty="no backward was run")


def _growth(notes: list[PassNote]) -> str:
    first, last = notes[0].nodes, notes[-1].nodes
    return f"{first:,} to {last:,} saving nodes" if len(notes) > 2 and last > 1.5 * first else ""


def _saved(watcher: "Watcher", names: ModulePaths) -> Iterable[View]:
    """Show what the largest pass found saved: by line, and by module."""
    largest = watcher.passes.largest
    total = sum(nbytes for _, nbytes in largest)
    if not total:
        return
    by_line, by_module = sums_of(watcher, names)
    for title, found in (("saved on line", by_line), ("saved in module", by_module)):
        rows = tuple(Row((name, nbytes, nbytes / total)) for name, nbytes in found[:_MOST])
        columns = (Column(title), Column("bytes", "bytes"), Column("part", "percent"))
        yield Table(columns, rows, (), max(0, len(found) - _MOST), "")
    yield Lines((f"peak: {total:,} B saved for the backward from {where_of(watcher, watcher.passes.largest_place)}",))


def sums_of(watcher: "Watcher", names: ModulePaths) -> tuple[Sums, Sums]:
    """Return (line, bytes) and (module, bytes) of what the largest pass found saved, the most first."""
    largest = watcher.passes.largest
    return sums((where_of(watcher, place), nbytes) for place, nbytes in largest), sums(
        (names.of(place) or "no module", nbytes) for place, nbytes in largest
    )


def _hints(watcher: "Watcher", variables: Mapping[str, object]) -> Iterable[str]:
    """Yield what fails silently: parameters that no pass ever reached, passes that retain their graph for nothing."""
    if not watcher.passes.notes:
        return
    told: set[int] = set(watcher.passes.reached)
    sharded = False
    for name, value in variables.items():
        for path, parameter in parameters_of(value) if is_module(value) else ():
            if not parameter.needs_grad or id(parameter.torch) in told:
                continue
            told.add(id(parameter.torch))
            if is_traceable_wrapper_subclass(parameter.torch):
                sharded = True
            else:
                yield f"hint: {name}.{path} requires grad, but no backward reached it"
    if older.NEEDED and older.HIDDEN.any():
        yield f"not counted: the bytes that saved-tensor hooks packed (PyTorch {torch.__version__} shows them only by unpacking)"
    if sharded:
        yield "not known: which sharded parameters a backward reached"
    for place in dict.fromkeys(note.place for note in watcher.passes.notes if note.retained):
        if place is not None:
            yield f"hint: {where_of(watcher, place)}: retain_graph=True keeps the saved tensors: remove it unless a second backward follows"
