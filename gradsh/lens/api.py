"""The functions of `gradsh.lens`, which need PyTorch: one watcher, and the commands as functions over the caller's names."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradsh.commands import find
from gradsh.contracts.state import State
from gradsh.lens.looks import Look, look, names_in, run_line
from gradsh.lens.mirror import World
from gradsh.lens.watcher import Watcher

_current: list[Watcher] = []


def start(*, writes: bool = True, modules: bool = True) -> Watcher:
    """Begin to follow the program's lines and passes; in-place writes and calls of modules unless these are False."""
    if not _current:
        _current.append(Watcher(writes=writes, modules=modules))
    _current[0].start()
    return _current[0]


def stop() -> None:
    """Follow no longer. Takes away every hook; what is known so far is forgotten."""
    while _current:
        _current.pop().stop()


@contextmanager
def watching(*, writes: bool = True, modules: bool = True) -> Iterator[Watcher]:
    """Follow the program within the block; what is known stays until `stop` or the next `start`."""
    watcher = start(writes=writes, modules=modules)
    try:
        yield watcher
    finally:
        watcher.stop()


def watcher() -> Watcher:
    """Return the watcher, one that is not on where none was started."""
    return _current[0] if _current else Watcher()


def _ask(name: str, frame: Any, subjects: tuple[Any, ...], options: dict[str, Any], *, by_module: bool = False) -> Look:
    """Run a command on values, with the names of a frame."""
    variables = names_in(frame)

    def run(state: State, world: World) -> Any:
        def shown(value: Any) -> Any:
            if isinstance(value, tuple | list):
                return tuple(map(shown, value))
            return world.shown(value)

        given = {key: shown(value) for key, value in options.items() if value is not None}
        return find(name).run(state, *map(shown, subjects), **given)

    return look(watcher(), name, run, variables, frame, subjects=subjects, by_module=by_module)


def graph(
    *tensors: Any, depth: int | None = None, expand: bool = False, group: bool = False, to: Any = None, state: str | None = None,
    name: str | None = None,
) -> Look:
    """Return the graph of tensors (of every variable's without any), as `graph` draws it."""
    ends = None if to is None else to if isinstance(to, tuple | list) else (to,)
    options = {"depth": depth, "expand": expand, "group": group, "to": ends, "state_": state, "name": name}
    return _ask("graph", sys._getframe(1), tensors, options)


def buffers(*tensors: Any, live: bool = False, freed: bool = False, sort: str | None = None, by: str | None = None) -> Look:
    """Return the tensors saved for backward, as `buffers` lists them. `by` groups: line, op, function, module or variable."""
    by_module = by == "module"
    options = {"live": live, "freed": freed, "sort": sort, "by": "function" if by_module else by}
    found = _ask("buffers", sys._getframe(1), tensors, options, by_module=by_module)
    return _named(found) if by_module else found


def _named(found: Look) -> Look:
    """Return groups by function as groups by module, which is what the lens put in their place."""
    report = found.report._replace(by="module")
    return Look("buffers", report, find("buffers").view(report))


def plan(
    loss: Any, *more: Any, grad: Any = None, retain: bool = False, create_graph: bool = False, inputs: Any = None,
) -> Look:
    """Return what `backward` would do now: what it would run, free, keep and write, or how it would fail."""
    gradients = None if grad is None else list(grad) if isinstance(grad, tuple | list) else [grad]
    chosen = None if inputs is None else inputs if isinstance(inputs, tuple | list) else (inputs,)
    options = {"grad": gradients, "retain": retain, "create_graph": create_graph, "inputs": chosen}
    return _ask("plan", sys._getframe(1), (loss, *more), options)


def why(*subject: Any) -> Look:
    """Return the story of a tensor or a module; without any, that of the last failure."""
    return _ask("why", sys._getframe(1), subject, {})


def holders(tensor: Any) -> Look:
    """Return what keeps a tensor's memory alive, by name."""
    return _ask("holders", sys._getframe(1), (tensor,), {})


def memory(*, by: str | None = None) -> Look:
    """Return the bytes by owner; with `by` (module, line, op, function, variable) those that graphs saved, grouped."""
    if by is None:
        return _ask("memory", sys._getframe(1), (), {})
    by_module = by == "module"
    found = _ask("buffers", sys._getframe(1), (), {"by": "function" if by_module else by}, by_module=by_module)
    return _named(found) if by_module else found


def leaks() -> Look:
    """Return the graphs that grow from pass to pass, and the names that keep them alive."""
    return _ask("leaks", sys._getframe(1), (), {})


def command(text: str, variables: dict[str, object] | None = None) -> Look:
    """Run a command line such as `graph loss --depth 2` over the caller's names, or over `variables`."""
    frame = sys._getframe(1)
    return run_line(watcher(), text, names_in(frame) if variables is None else variables, frame)


def _fact(name: str, frame: Any, *arguments: Any) -> Any:
    """Return what one of the assertions of gradsh's scripts answers over the names of a frame."""
    from gradsh.probe.assertions import functions

    with watcher().look() as world:
        return functions(lambda: names_in(frame))[name](*map(world.shown, arguments))


def live_bytes() -> int:
    """Return the bytes of the memories that saved tensors of live graphs stand in, each memory once."""
    return int(_fact("live_bytes", sys._getframe(1)))


def reclaimable_bytes(tensor: Any) -> int:
    """Return the bytes that a backward from the tensor would give back."""
    return int(_fact("reclaimable_bytes", sys._getframe(1), tensor))


def freed(tensor: Any) -> bool:
    """Return whether what the tensor's node saved was freed; where it saves nothing, the nearest nodes below that do."""
    return bool(_fact("freed", sys._getframe(1), tensor))


def saved(tensor: Any, name: str) -> bool:
    """Return whether the tensor's node holds a saved tensor of that name, not freed."""
    return bool(_fact("saved", sys._getframe(1), tensor, name))
