"""The functions of `gradsh.lens`, which need PyTorch: one watcher, and the commands as functions over the caller's names."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gradsh.commands import find
from gradsh.contracts.state import State
from gradsh.lens.looks import Look, look, names_in, run_line
from gradsh.lens.mirror import World
from gradsh.lens.watcher import Watcher
from gradsh.probe.assertions import functions

_current: list[Watcher] = []


def start(*, writes: bool = True, modules: bool = True, joins: bool = True) -> Watcher:
    """Start watching the program. False for `writes`, `modules`, `joins` skips in-place writes, module calls, running functions."""
    if not _current:
        _current.append(Watcher(writes=writes, modules=modules))
    _current[0].start(joins=joins)
    return _current[0]


def stop() -> None:
    """Stop watching: remove every hook and drop the collected data."""
    while _current:
        _current.pop().stop()


@contextmanager
def watching(*, writes: bool = True, modules: bool = True) -> Iterator[Watcher]:
    """Watch the program within the block. The collected data stays until `stop` or the next `start`."""
    watcher = start(writes=writes, modules=modules)
    try:
        yield watcher
    finally:
        watcher.stop()


def watcher() -> Watcher:
    """Return the watcher, one that is not on where none was started."""
    return _current[0] if _current else Watcher()


def _ask(name: str, frame: object, subjects: tuple[object, ...], options: Mapping[str, object]) -> Look:
    """Run a command on values, with the names of a frame."""
    variables = names_in(frame)

    def run(state: State, world: World) -> Any:
        def shown(value: object) -> Any:
            if isinstance(value, tuple | list):
                return tuple(map(shown, value))
            return world.shown(value)

        given = {key: shown(value) for key, value in options.items() if value is not None}
        return find(name).call_with(state, tuple(map(shown, subjects)), given)

    return look(watcher(), name, run, variables, frame, subjects=subjects)


def graph(
    *tensors: object, depth: int | None = None, expand: bool = False, by: str | None = None, open: str | None = None,
    to: object = None, state: str | None = None, name: str | None = None,
) -> Look:
    """Return the graph of the tensors (without any: of every variable), as the command `graph` draws it."""
    ends = None if to is None else to if isinstance(to, tuple | list) else (to,)
    options = {"depth": depth, "expand": expand, "by": by, "open": open, "to": ends, "state_": state, "name": name}
    return _ask("graph", sys._getframe(1), tensors, options)


def buffers(*tensors: object, live: bool = False, freed: bool = False, sort: str | None = None, by: str | None = None) -> Look:
    """Return the tensors saved for backward, as `buffers` lists them. `by` groups: line, op, function, module or variable."""
    return _ask("buffers", sys._getframe(1), tensors, {"live": live, "freed": freed, "sort": sort, "by": by})


def plan(
    loss: object, *more: object, grad: object = None, retain: bool = False, create_graph: bool = False, inputs: object = None,
) -> Look:
    """Return what a backward from `loss` would run, free, keep and write, or how it would fail. Changes nothing."""
    gradients = None if grad is None else list(grad) if isinstance(grad, tuple | list) else [grad]
    chosen = None if inputs is None else inputs if isinstance(inputs, tuple | list) else (inputs,)
    options = {"grad": gradients, "retain": retain, "create_graph": create_graph, "inputs": chosen}
    return _ask("plan", sys._getframe(1), (loss, *more), options)


def why(*subject: object) -> Look:
    """Return the explanation of a tensor or a module; without an argument, of the last failure."""
    return _ask("why", sys._getframe(1), subject, {})


def holders(tensor: object) -> Look:
    """Return everything that keeps the storage of a tensor alive, by name."""
    return _ask("holders", sys._getframe(1), (tensor,), {})


def memory(*, by: str | None = None) -> Look:
    """Return the bytes by owner; with `by` (module, line, op, function, variable) the saved bytes, grouped, too."""
    return _ask("memory", sys._getframe(1), (), {"by": by})


def leaks() -> Look:
    """Return the graphs that grow from iteration to iteration, and the names that keep them alive."""
    return _ask("leaks", sys._getframe(1), (), {})


def command(text: str, variables: dict[str, object] | None = None) -> Look:
    """Run a command line such as `graph loss --depth 2` over the caller's names, or over `variables`."""
    frame = sys._getframe(1)
    return run_line(watcher(), text, names_in(frame) if variables is None else variables, frame)


def _fact(name: str, frame: object, *arguments: object) -> Any:
    """Return what one of the assertions of gradsh's scripts answers over the names of a frame."""
    with watcher().look() as world:
        return functions(lambda: names_in(frame))[name](*map(world.shown, arguments))


def live_bytes() -> int:
    """Return the bytes of the storages of all live saved tensors; each storage counts once."""
    return int(_fact("live_bytes", sys._getframe(1)))


def reclaimable_bytes(tensor: object) -> int:
    """Return the bytes of memory that a backward from the tensor would release."""
    return int(_fact("reclaimable_bytes", sys._getframe(1), tensor))


def freed(tensor: object) -> bool:
    """Return whether the saved tensors of the tensor's node are freed. If it saves nothing, the nearest nodes below count."""
    return bool(_fact("freed", sys._getframe(1), tensor))


def saved(tensor: object, name: str) -> bool:
    """Return whether the tensor's node has a live saved tensor of that name."""
    return bool(_fact("saved", sys._getframe(1), tensor, name))
