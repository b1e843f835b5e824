"""Anomaly detection: a backward that computes nan fails at the node that did, and a failure tells where its node was made.

Each node that is made meanwhile notes the calls that led there, and, within a backward, the node on whose behalf it is made.
"""

import sys
import traceback
from pathlib import Path
from typing import Any

from gradsh.engine.ambient import ANOMALY_SOURCE, current
from gradsh.engine.dispatch.saved_hooks import watching
from gradsh.engine.graph.node import Node, behind

_OWN_FILES = str(Path(__file__).parent.parent)


def note(node: Node) -> None:
    """Note on a new node where it is made."""
    metadata, running = node.more().metadata, current().running
    metadata["traceback_"] = _stack()
    if running is not None:
        metadata["parent_"] = running.order[running.position].facade()


def _stack() -> list[str]:
    """Return the lines of the program that are running now, as Python shows them, the outermost first."""
    source = current().flags.get(ANOMALY_SOURCE)
    frames = [(frame, line) for frame, line in traceback.walk_stack(None) if not frame.f_code.co_filename.startswith(_OWN_FILES)]
    if source is None:
        return traceback.StackSummary.extract(reversed(frames)).format()
    return [text for text in (source(frame.f_code, line) for frame, line in reversed(frames)) if text]


def failed(node: Node) -> None:
    """Tell where a node that failed was made, and the nodes on whose behalf."""
    again = node
    while again is not None:
        metadata = again.metadata if again.extra is not None else {}
        _tell(again.name(), metadata.get("traceback_"), again is not node)
        again = behind(metadata.get("parent_"))


def _tell(name: str, stack: list[str] | None, induced: bool) -> None:
    if stack is None:
        start = f"Error detected in {name}. No forward pass information available. "
        message = start + "Enable detect anomaly during forward pass for more information."
    elif induced:
        message = f"\n\nPrevious calculation was induced by {name}. Traceback of forward call that induced the previous calculation:\n"
    else:
        message = f"Error detected in {name}. Traceback of forward call that caused the error:\n"
    try:
        current().warning(message + "".join(stack or ()).rstrip())
    except Warning as told:  # the error that is on its way matters more
        sys.excepthook(type(told), told, None)


class _Anomaly:
    """Sets anomaly detection at once; as a context, puts it back at the end."""

    __slots__ = ("_before", "_mode")
    __script_attributes__ = frozenset({"__enter__", "__exit__"})

    def __init__(self, mode: bool, check_nan: bool) -> None:
        self._before = current().anomaly
        self._mode = (bool(check_nan), note, failed) if mode else None

    def __enter__(self) -> None:
        _switch(self._mode)

    def __exit__(self, *_: object) -> None:
        _switch(self._before)


def _switch(mode: Any) -> None:
    current().anomaly = mode
    watching("anomaly", mode is not None)


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
        _switch(self._mode)


def is_anomaly_enabled() -> bool:
    """Return whether anomaly detection is on."""
    return current().anomaly is not None


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether backward looks for nan while anomaly detection is on; it would where that is off."""
    anomaly = current().anomaly
    return anomaly is None or bool(anomaly[0])
