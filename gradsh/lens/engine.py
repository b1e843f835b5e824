"""Scripts on PyTorch: a session whose machine runs Python as it stands, with PyTorch's names, followed by a watcher.

Commands are written once: those that look are run within the watcher's world, `backward` foretells its pass and runs
PyTorch's, the others are the session's own. What only gradsh's engine can do says so.
"""

import builtins
import importlib
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import GeneratorType
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from gradsh.commands import find
from gradsh.commands.record import CommandRecord
from gradsh.compiler.lower import Unit
from gradsh.compiler.plain import PlainLowering, module_of
from gradsh.contracts.events import Emit, Result, Snapshot
from gradsh.contracts.state import Failed as LastFailure
from gradsh.engine.ambient import Ambient
from gradsh.engine.graph.types import Location
from gradsh.language.node import stmt
from gradsh.lens.diagnose import told
from gradsh.lens.looks import COMMANDS, state_of
from gradsh.lens.mirror import World, apart
from gradsh.lens.recorder import TorchRecorder
from gradsh.lens.streams import Printed
from gradsh.lens.units import ScriptUnits
from gradsh.lens.watcher import Watcher
from gradsh.probe.assertions import functions
from gradsh.probe.budget import Budget
from gradsh.probe.foreign import tensor_of
from gradsh.process.limits import UNBOUNDED, Limits
from gradsh.runtime.activation import describe
from gradsh.runtime.machine import Invocation, Machine, StatementFailure
from gradsh.runtime.script_globals import STANDING, Offer
from gradsh.session.session import Session
from gradsh.text.fault import fail
from gradsh.text.problem import Problem
from gradsh.text.span import Source

BARE = (torch.nn.functional, torch, torch.nn, torch.optim)
"""Where a bare name is looked up."""
LOOKS = frozenset({*COMMANDS, "diff"})
OWN = {
    "retain": "PyTorch keeps a whole graph or nothing: write `backward z --retain`",
    "release": "PyTorch keeps a whole graph or nothing",
    "check": "write `torch.autograd.gradcheck(function, inputs)`",
    "undo": "a program on PyTorch has no undo",
    "redo": "a program on PyTorch has no undo",
    "back": "a program on PyTorch has no undo",
    "browse": "`graph` draws the same graph",
    "top": "write `memory`, or `buffers --sort bytes`",
    "fix": "fixes are tried on gradsh's engine",
}
"""Commands that only gradsh's engine has, and what to do without them."""
_SILENT = (torch.Generator, torch.utils.hooks.RemovableHandle, GeneratorType)


class TorchOffer(Offer):
    """What exists for a program on PyTorch without its doing: Python's own builtins, and PyTorch's names."""

    def builtins(self) -> dict[str, Any]:
        return dict(vars(builtins))

    def bare(self, name: str) -> object:
        if name in STANDING:
            return importlib.import_module(STANDING[name])
        for space in BARE:
            if name in vars(space):
                return vars(space)[name]
        raise KeyError(name)


class TorchMachine(Machine):
    """Runs statements as Python does, with PyTorch's names in reach."""

    lowering = PlainLowering
    offering = TorchOffer
    has_pins = False

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        super().__init__(_diagnose)
        self.units: Any = ScriptUnits()
        watcher.sources = self.units

    def compile(self, statement: stmt, source: Source, names: dict[str, Any] | None = None) -> Unit:
        """Compile a top-level statement; its loops are followed."""
        with suppress(Exception):  # what cannot be lowered is told by the compiler
            self.watcher.files.learn(f"<gradsh {len(self.units)}>", module_of(statement, source))
        return super().compile(statement, source, names)

    def locate(self, where: Location) -> Any:
        return describe(self.units, where)

    @staticmethod
    def in_engine_form(value: object) -> object:
        """Return a tensor in the engine's form, anything else as it is."""
        found = tensor_of(value)
        return value if found is None else found


class TorchSession(Session):
    """A session on PyTorch. `device` is where tensors are made that name no other."""

    machine: TorchMachine

    def __init__(self, seed: int | None = 0, *, limits: Limits = UNBOUNDED, typed: bool = False, device: str = "") -> None:
        self.watcher = Watcher()
        self.device = device
        self.weightless = device == "meta"
        self.watcher.passes.before = self.note_pass
        if device:
            torch.set_default_device(device)
        super().__init__(seed, limits=limits, typed=typed)
        self.watcher.told_line = self.told
        self.printed = Printed(self._on_print)
        self.recorder = partial(TorchRecorder, self)

    def new_machine(self) -> TorchMachine:
        return TorchMachine(self.watcher)

    @staticmethod
    def next_mark() -> int:
        return int(torch._C._autograd._get_sequence_nr()) - 1

    def new_ambient(self) -> Ambient:
        """Seed PyTorch's random numbers, too."""
        torch.manual_seed(self.seed)
        return super().new_ambient()

    def _take_options(self, source: Source) -> None:
        before = self.seed
        super()._take_options(source)
        if self.seed != before:
            torch.manual_seed(self.seed)

    @contextmanager
    def _entered(self, emit: Emit) -> Iterator[None]:
        """Follow the program within the block; what it prints, also from within libraries, becomes events."""
        if self.depth:
            with super()._entered(emit):
                yield
            return
        outer, sys.stdout = sys.stdout, self.printed
        self.watcher.start(joins=False)
        try:
            with super()._entered(emit):
                yield
        finally:
            self.watcher.stop()
            sys.stdout = outer

    def copy(self) -> "TorchSession":
        other = TorchSession(self.seed, device=self.device)
        other.is_copy = True
        return other

    def needs(self, roots: Sequence[str], name: str, value: int, *, checkpointed: bool) -> Budget | Problem:
        state = torch.get_rng_state()
        try:
            with apart():
                return super().needs(roots, name, value, checkpointed=checkpointed)
        finally:
            torch.set_rng_state(state)

    @staticmethod
    def checkpointing() -> Callable[..., object]:
        return checkpoint  # type: ignore[no-any-return]

    def _run_statement(self, statement: stmt, source: Source, line: int) -> StatementFailure | None:
        try:
            return super()._run_statement(statement, source, line)
        finally:
            self.printed.flush()

    def interrupt(self) -> None:
        """End what is running here: nothing in the program asks whether it should end."""
        raise KeyboardInterrupt

    # ------------------------------------------------------------------ commands

    def _on_command(self, invocation: Invocation) -> None:
        self.printed.flush()
        name = invocation.command.name
        if name in OWN and "grad" not in invocation.options:
            raise fail("other", f"`{name}` is not available on PyTorch: {OWN[name]}")
        if name == "backward":
            self._backward(_evaluated(invocation))
        elif name == "retain":
            for one in invocation.values():
                one.retain_grad()
        elif name in LOOKS:
            with self._looking() as world:
                super()._on_command(_shown(invocation, world))
        else:
            super()._on_command(invocation)

    @staticmethod
    def module_class() -> object:
        return torch.nn.Module

    def look(self) -> Any:
        return self.watcher.look()

    def _looking(self) -> Any:
        return self.watcher.look_at(self.reachable())

    def _backward(self, invocation: Invocation) -> None:
        """Run a pass of PyTorch's; what it does is what the plan of it foretold."""
        options = {name: [one() for one in value] if isinstance(value, list) else value for name, value in invocation.options.items()}
        if "step" in options:
            raise fail("other", "`--step` is not available on PyTorch; gradsh's engine has it")
        wanted, output = self._output_options(invocation)
        command = find("backward")
        call = self._call_of(invocation)
        with self._looking() as world:
            outer, self.state.call = self.state.call, call
            try:
                plan = CommandRecord("backward", "", find("plan").run, ()).call(_shown(invocation, world), self.state)
            finally:
                self.state.call = outer
        if "plan" not in options:
            torch.autograd.backward(
                invocation.values(), options.get("grad"), True if "retain" in options else None, "create-graph" in options,
                inputs=options.get("inputs"),
            )
        report = plan if "plan" in options else plan.would
        self.emit(Result(call.line, "backward", report, lambda: command.view(report), wanted, output))

    def _assertion(self, name: str) -> Callable[..., object]:
        def ask(*args: object, **kwargs: object) -> Any:
            with self._looking() as world:
                return functions(self.reachable, self.state.meter)[name](*map(world.shown, args), **kwargs)

        ask.__name__ = ask.__qualname__ = name
        return ask

    # ------------------------------------------------------------------ what is followed

    def note_pass(self, roots: list[object]) -> None:
        """Note the leaves that a pass reaches; measure what is alive before it."""
        running = self.machine.running()
        unit = -1 if running is None else self.unit_of((None, running.code, 0))
        metered = self.state.meter is not None and self.state.meter.due()
        with self._looking() if metered else self.watcher.look() as world:
            nodes = [world.node(root) for root in roots]
            leaves = [one.torch for one in world.tensors.values() if one.meta is not None and one.meta.accumulator is not None]
            self.state.note_written(unit, {id(leaf): _Mirrored(leaf) for leaf in leaves})
            if metered:
                line = self.line_of(self.watcher.lines.log().here())
                self.state.meter.sample(self.reachable(), line or self.line, nodes)

    def _look_after(self, line: int, seconds: float) -> None:
        if self.state.meter is None:
            super()._look_after(line, seconds)
        else:
            with self._looking():
                super()._look_after(line, seconds)

    def _on_value(self, statement: stmt, value: object) -> None:
        if not isinstance(value, _SILENT):
            super()._on_value(statement, value)

    def _is_small(self) -> bool:
        """Return False: fixes are tried on gradsh's own engine alone."""
        return False

    def tried(self, failed: LastFailure, *, at_once: bool = False) -> LastFailure:
        del at_once
        return failed

    # ------------------------------------------------------------------ places

    def line_of(self, where: Location) -> int | None:
        return self.watcher.line_of(where)

    def unit_of(self, where: object) -> int:
        try:
            return super().unit_of(where)
        except ValueError:  # a file of the user's that no statement called
            return -1

    def owns(self, where: object) -> bool:
        return where is not None

    def snapshot(self) -> Snapshot:
        return state_of(self.watcher, self.machine.variables())


class _Mirrored(weakref.ref[Any]):
    """A weak reference to a tensor of PyTorch's, which gives it in the engine's form."""

    __slots__ = ()

    def __call__(self) -> Any:
        return tensor_of(super().__call__())


def _diagnose(machine: Any, error: BaseException, unit: Unit | None) -> StatementFailure:
    return told(machine.watcher, error, None if unit is None else unit.stmt.span.line)


def _evaluated(invocation: Invocation) -> Invocation:
    """Return a command line with its arguments evaluated, each once."""
    return _mapped(invocation, lambda thunk: _constant(thunk()))


def _constant(value: object) -> Callable[[], object]:
    return lambda: value


def _shown(invocation: Invocation, world: World) -> Invocation:
    """Return a command line whose arguments give tensors in the engine's form."""
    return _mapped(invocation, lambda thunk: lambda: world.shown(thunk()))


def _mapped(invocation: Invocation, change: Callable[[Any], Any]) -> Invocation:
    options = {
        name: [change(one) for one in value] if isinstance(value, list) else change(value) if callable(value) else value
        for name, value in invocation.options.items()
    }
    arguments = tuple(change(one) for one in invocation.arguments)
    return Invocation(invocation.command, invocation.source, arguments, options, invocation.tail, invocation.local)
