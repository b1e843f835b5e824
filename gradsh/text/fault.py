"""How the engine reports a failure: Python's own exception, carrying a `Fault` with the kind and its fields.

A script that writes `except RuntimeError as e: print(e)` must see PyTorch's class and PyTorch's text, so the
exception is exactly the built-in one. What gradsh knows beyond the text travels in the attribute `fault`.
"""


class Fault:
    """What went wrong, for the diagnostics: a stable kind and named fields (engine objects, shapes, names)."""

    __slots__ = ("fields", "kind")

    def __init__(self, kind: str, fields: dict[str, object]) -> None:
        self.kind = kind
        self.fields = fields


def fail(kind: str, message: str, error: type[Exception] = RuntimeError, **fields: object) -> Exception:
    """Return an `error(message)` whose attribute `fault` holds `kind` and `fields`; the caller raises it.

    PyTorch's own checks raise RuntimeError, so that is what a call names no class for.
    """
    exception = error(message)
    exception.fault = Fault(kind, fields)  # type: ignore[attr-defined]
    return exception


def interruption(*, over: bool = False) -> KeyboardInterrupt:
    """Return what Ctrl-C raises in a script, whose statement may be `over` by then; one that a script raises itself has no fault."""
    error = KeyboardInterrupt()
    error.fault = Fault("interrupt", {"over": over})  # type: ignore[attr-defined]
    return error


def fault_of(exception: BaseException) -> Fault | None:
    """Return the fault an exception carries, or None for one that Python itself raised."""
    found = getattr(exception, "fault", None)
    return found if isinstance(found, Fault) else None  # a script's own exception may have any attribute
