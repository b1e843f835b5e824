"""Anomaly detection: a backward that computes nan fails at the node that did."""

from typing import Any

from gradsh.engine.ambient import current


class _Anomaly:
    """Sets anomaly detection at once; as a context, puts it back at the end."""

    __slots__ = ("_before", "_mode")
    __script_attributes__ = frozenset({"__enter__", "__exit__"})

    def __init__(self, mode: bool, check_nan: bool) -> None:
        self._before = current().anomaly
        self._mode = (bool(check_nan), True) if mode else None

    def __enter__(self) -> None:
        current().anomaly = self._mode

    def __exit__(self, *_: object) -> None:
        current().anomaly = self._before


class detect_anomaly(_Anomaly):
    """A context in which backward names the node that computed nan, and where it was built."""

    __slots__ = ()

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)
        current().warning(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
        )


class set_detect_anomaly(_Anomaly):
    """Switch anomaly detection on or off."""

    __slots__ = ()

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(mode, check_nan)
        current().anomaly = self._mode


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on."""
    return current().anomaly is not None


def is_anomaly_check_nan_enabled() -> Any:
    """Return whether backward looks for nan."""
    anomaly = current().anomaly
    return anomaly is not None and anomaly[0]
