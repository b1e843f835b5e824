"""The watcher: follows lines, in-place writes and backward passes of a program while it is on. There is one at a time."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from os.path import realpath
from typing import Any

import torch

from gradsh.engine.graph.types import Location
from gradsh.lens.faults import fault_of_pass
from gradsh.lens.files import UserFiles
from gradsh.lens.lines import LineTracer
from gradsh.lens.mirror import World, world_of
from gradsh.lens.modules import Modules
from gradsh.lens.older import HIDDEN
from gradsh.lens.passes import Passes
from gradsh.lens.quiet import Quiet
from gradsh.lens.units import ScriptUnits, Sources
from gradsh.lens.writes import Writes
from gradsh.probe.names import named_tensors
from gradsh.text.line import Line


class Watcher:
    """What is known of a running program."""

    def __init__(self, *, writes: bool = True, modules: bool = True) -> None:
        self.files = UserFiles()
        self.lines = LineTracer(self.files, torch._C._autograd._get_sequence_nr)
        self.writes = Writes(self.lines)
        self.modules = Modules(self.lines)
        self.passes = Passes(self.lines, partial(fault_of_pass, self.look))
        self.quiet = Quiet(self.lines)
        self.told: Any = None
        """The latest failure that was told."""
        self.told_line: Callable[[int, str], int] = _told_line
        """Tells a line of a file: with the name of the file, unless that is what is run."""
        self.sources: Sources | ScriptUnits = Sources()
        self.follows_writes = writes
        self.follows_modules = modules
        self.on = False

    def start(self, *, joins: bool = True) -> None:
        """Begin to follow, with `joins` also the functions that are running."""
        if self.on:
            return
        self.on = True
        HIDDEN.start()
        self.passes.start()
        if self.follows_writes:
            self.writes.start()
        if self.follows_modules:
            self.modules.start()
        self.quiet.start()
        self.lines.start(joins=joins)

    def stop(self) -> None:
        """Follow no longer; what is known so far stays."""
        if not self.on:
            return
        self.on = False
        self.lines.stop()
        self.quiet.stop()
        self.modules.stop()
        self.writes.stop()
        self.passes.stop()
        HIDDEN.stop()

    @contextmanager
    def look(self) -> Iterator[World]:
        """Let the probes look at PyTorch's world within the block; nothing that they do is followed."""
        collecting = gc.isenabled()
        gc.disable()  # tens of thousands of objects are made that die at the end of the question
        try:
            with self.lines.paused(), torch._C.DisableTorchFunction(), world_of(self.lines, self.writes) as world:
                yield world
        finally:
            if collecting:
                gc.enable()

    @contextmanager
    def look_at(self, variables: Mapping[str, object]) -> Iterator[World]:
        """Let the probes look, all graphs of the variables met before the first question, so that their leaves have names."""
        with self.look() as world:
            for _ in named_tensors(variables):
                pass
            yield world

    def line_of(self, where: Location) -> int | None:
        """Return the first line of the innermost statement at a place, or None where there is none."""
        if where is None:
            return None
        line = self.sources.span(where[1], where[2]).line
        if where[2] >= 0:
            line = self.sources.statement(where[1], line).line
        return self.told_line(line, self.sources.of(where[1]).source.name)


def _told_line(line: int, file: str) -> int:
    main = getattr(sys.modules["__main__"], "__file__", None)
    return Line(line, "" if file.startswith("<") or (main and realpath(file) == realpath(main)) else file)
