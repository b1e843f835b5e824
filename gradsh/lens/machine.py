"""What the diagnosis asks of the interpreter, answered for a program that Python runs: frames, places, values."""

from collections.abc import Mapping
from types import FrameType
from typing import Any

from gradsh.lens.files import UserFiles
from gradsh.lens.mirror import World
from gradsh.lens.units import ScriptUnits, Sources
from gradsh.runtime.activation import ROOT, Place, describe

_OPTIMIZED = 1
"""Flag of the code of functions, whose variables Python copies for who asks (before 3.13) and keeps with the frame."""


def variables_of(frame: Any) -> dict[str, object]:
    """Return the variables of a frame; the copy that Python keeps is emptied, so that it holds nothing."""
    local = frame.f_locals
    found = dict(local)
    if frame.f_code.co_flags & _OPTIMIZED and type(local) is dict:
        local.clear()
    return found


class PythonMachine:
    """Stands for the `Machine` while a failure is told. `program` are the variables of the module that failed."""

    has_pins = False

    def __init__(
        self, files: UserFiles, sources: Sources | ScriptUnits, world: World, error: BaseException | None, place: object
    ) -> None:
        self.files = files
        self.units = sources
        self.world = world
        self.place = place
        self.frame: Any = None
        """The innermost frame of the user's that the exception passed."""
        self.telling = False
        trace = None if error is None else error.__traceback__
        while trace is not None:
            self.frame = trace.tb_frame if self.owns(trace.tb_frame) else self.frame
            trace = trace.tb_next
        self.program: dict[str, Any] = {} if self.frame is None else self.values(self.frame.f_globals)
        self.builtins: dict[str, Any] = {}

    def owns(self, frame: FrameType) -> bool:
        """Tell whether a frame runs a line of the user's files."""
        return self.files.is_own(frame.f_code.co_filename)

    def values(self, local: Mapping[str, object]) -> dict[str, Any]:
        """Return variables with the tensors among them, and those directly in their containers, in the engine's form."""
        return {name: self._value(value) for name, value in dict(local).items() if not name.startswith("__")}

    def _value(self, value: Any) -> Any:
        if type(value) in {list, tuple}:
            return type(value)(self.world.shown(one) for one in value[:1000])
        if type(value) is dict:
            return {key: self.world.shown(one) for key, one in list(value.items())[:1000]}
        return self.world.shown(value)

    def in_engine_form(self, value: object) -> object:
        """Return a tensor in the engine's form, anything else as it is."""
        return self.world.shown(value)

    def variables(self) -> dict[str, Any]:
        """Return the module's variables."""
        return self.program

    def locate(self, where: object) -> Place:
        """Return the place that an opaque `where` stands for."""
        return describe(self.units, where)  # type: ignore[arg-type]

    def where_of(self, error: BaseException) -> object:
        """Return where the program stood when the exception was raised."""
        if self.place is not None:
            return self.place
        found, trace = None, error.__traceback__
        while trace is not None:
            if self.owns(trace.tb_frame):
                found = (ROOT, trace.tb_frame.f_code, trace.tb_lasti)
            trace = trace.tb_next
        return found
