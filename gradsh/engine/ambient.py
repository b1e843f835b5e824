"""The one ambient value: grad mode, default dtype, generator, where births and writes are noted, print options.

It is held in a single ContextVar. A session enters its own, so that nothing leaks from one to the next; a program
that uses gradsh as a library lives in the default one, of which each thread has the modes to itself, as in PyTorch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from gradsh.engine.rng.generator import Generator

sequence_numbers = count()
"""The numbers of nodes, in the order in which they are made."""
_FLOAT32 = np.dtype(np.float32)
One = TypeVar("One")
BATCHED = "batched"
"""The flag that is set while a function runs for one element of a batch, as `vmap` calls it."""
TRANSFORMED = "transformed"
"""The flag that is set while a function runs that torch.func transforms."""


AUTOCAST = "autocast"
"""The flag that holds the `AutocastState` of a thread, once autocast has been on there."""
ANOMALY_SOURCE = "anomaly_source"
"""The flag that holds what shows a line of the program: (code, line number) -> text, empty for what is not the program's."""


class Ambient:
    """Everything that an operation reads besides its arguments."""

    __slots__ = (
        "_generator", "_print_options", "anomaly", "atomic", "bytes_held", "check", "default_devices", "default_dtype",
        "files", "first_node", "flags", "grad_enabled", "handle_ids", "locate", "location_cache", "passes", "running",
        "saved_hooks", "standing_in", "trail", "warn",
    )

    def __init__(self) -> None:
        self._enter_thread()
        self.default_dtype: Any = _FLOAT32
        self._generator: Generator | None = None
        self._print_options: object = None
        self.locate: Callable[[], Any] | None = None
        """Called when a node is born, a tensor written or a graph freed; its answer is kept, never looked into."""
        self.location_cache = None
        """What answers `locate` for the commonest frames without a call: `frame` is the one that runs the program's own text (or
        None), `code` the code that asked last, `activation` what is noted of both. None where `locate` must be called each time."""
        self.trail: Any = None
        """What holds the `activation` of a session's program, where a module that is called puts itself; None outside of one."""
        self.warn: Callable[[str, type[Warning] | None], None] | None = None
        """Takes a warning's text and class, or the text of a note; None: Python's own `warnings`."""
        self.check: Callable[[int], None] | None = None
        """Asked with a number of bytes before a large allocation and with 0 between two nodes; may raise."""
        self.anomaly: tuple[bool, Callable[[object], None], Callable[[object], None]] | None = None
        """What detect_anomaly asks for: whether to look for nan, what is told each new node, and one that fails. None: it is off."""
        self.passes: Callable[[Any, bool], None] | None = None
        """Told of each backward pass: (pass, whether it is over)."""
        self.atomic = False
        self.bytes_held: Callable[[], tuple[int, int]] | None = None
        """Answers how many bytes the tensors and graphs of the program hold now, and the most that they held."""

    def _enter_thread(self) -> None:
        """Set what each thread has to itself."""
        self.grad_enabled = True
        self.saved_hooks: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = ()
        self.running: Any = None
        """The backward pass that is running now (the innermost), for hooks that ask."""
        self.default_devices: list[Any] = [None]
        """Where factories make tensors that name no device: what set_default_device chose (None: the CPU), then a device for each
        `with` that is open."""
        self.flags: dict[str, Any] = {}
        self.files: dict[str, Any] = {}
        """What the program wrote or saved, by the file's name."""
        self.standing_in: set[str] = set()
        """What has said that it stands in for what the program asked for."""
        self.handle_ids = count()
        """The numbers of hooks' handles."""
        self.first_node = next(sequence_numbers) + 1
        """Sequence number of the first node that is made here."""

    @property
    def generator(self) -> "Generator":
        """The default generator of random numbers, made on first use (seed 0 until seeded)."""
        if self._generator is None:
            from gradsh.engine.rng.generator import Generator

            self._generator = Generator().manual_seed(0)
        return self._generator

    @generator.setter
    def generator(self, value: "Generator") -> None:
        self._generator = value

    @property
    def print_options(self) -> Any:
        """The options of `set_printoptions`."""
        if self._print_options is None:
            from gradsh.engine.printing.format import PrintOptions

            self._print_options = PrintOptions()
        return self._print_options

    def location(self) -> Any:
        """Return the opaque location at which the program is now, or None."""
        return None if self.locate is None else self.locate()

    def stands_in(self, name: str, what: str) -> None:
        """Say once that something stands in for what the program asked for."""
        self.warn_once(name, f"{name} is a stub: {what}")

    def note_read(self) -> None:
        """Warn where the program reads the value of an element of a batch, whose values PyTorch has all at once."""
        if self.flags.get(BATCHED):
            self.warn_once("a read within vmap", "within vmap, PyTorch refuses `.item()`, `if`, a mask as an index and whatever else reads "
                           "a value that depends on the batch: write `torch.where`, or compute it outside")  # fmt: skip

    def warn_once(self, name: str, message: str) -> None:
        """Report a warning about a name, the first time that the program uses it."""
        if name not in self.standing_in:
            self.standing_in.add(name)
            self.warning(message, None)

    def warning(self, message: str, category: type[Warning] | None = UserWarning) -> None:
        """Report a warning of PyTorch's, or (without a class) a note of gradsh's own."""
        if self.warn is not None:
            self.warn(message, category)
            return
        import warnings

        warnings.warn(message, category, stacklevel=3)


class ThreadAmbient(Ambient):
    """The ambient value of a further thread of a program that uses gradsh as a library: what is not its own is the library's."""

    __slots__ = ()

    def __init__(self) -> None:
        self._enter_thread()


def _shared(name: str) -> property:
    return property(lambda _: getattr(_LIBRARY, name), lambda _, value: setattr(_LIBRARY, name, value))


for _name in (
    "_generator", "_print_options", "anomaly", "atomic", "check", "default_dtype", "passes", "location_cache", "trail", "warn", "locate",
):
    setattr(ThreadAmbient, _name, _shared(_name))

_LIBRARY = Ambient()
_CURRENT: ContextVar[Ambient | None] = ContextVar("gradsh", default=None)
_CURRENT.set(_LIBRARY)  # for the thread that imports this; another finds nothing at first

entered = _CURRENT.get
"""The current ambient value, or None in a thread that has none yet: what is called for each operation asks this first."""


def current() -> Ambient:
    """Return the current ambient value, made at a thread's first question."""
    found = entered()
    if found is None:
        _CURRENT.set(found := ThreadAmbient())
    return found


@contextmanager
def enter(ambient: Ambient) -> Iterator[Ambient]:
    """Make `ambient` the current one within the block."""
    token = _CURRENT.set(ambient)
    try:
        yield ambient
    finally:
        _CURRENT.reset(token)


@contextmanager
def grad_mode(enabled: bool) -> Iterator[None]:
    """Set grad mode within the block (the engine's own use; scripts have no_grad and enable_grad)."""
    ambient = current()
    before = ambient.grad_enabled
    ambient.grad_enabled = enabled
    try:
        yield
    finally:
        ambient.grad_enabled = before


def check_no_transform() -> None:
    """Refuse a backward pass within a function that torch.func transforms."""
    if current().flags.get(TRANSFORMED):
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead "
            "or call backward() outside of functorch transforms."
        )


def standing_in(name: str, what: str) -> Callable[[One], One]:
    """Mark a function or class as one that stands in: `gradsh check` reads the mark, `tell` words it."""

    def mark(one: Any) -> Any:
        one.stand_in = (name, what)
        return one

    return mark


def tell(one: Any, more: str = "") -> None:
    """Say once that a marked function or class stands in, and as what."""
    name, what = one.stand_in
    current().stands_in(name, what + more)


@contextmanager
def flagged(*names: str, to: bool = True) -> Iterator[None]:
    """Set flags of the current ambient value for a while, or take them away."""
    flags = current().flags
    before = {name: flags.get(name, False) for name in names}
    flags.update(dict.fromkeys(names, to))
    try:
        yield
    finally:
        flags.update(before)
