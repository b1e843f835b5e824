"""Inference tensors: what operations make within inference_mode. They count no writes and are kept by no graph.

Their version counter is of a class of its own, which refuses what they cannot do; views of them share it. While the mode
is on, hooks that do nothing stand on saved tensors: the fast paths leave such a case to the general way, which marks results.
"""

from typing import Any

from gradsh.engine.ambient import current
from gradsh.engine.dispatch.saved_hooks import unchanged
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.values.storage import VersionCounter
from gradsh.text.fault import fail

_FLAG = "inference"
_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked "
    "by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
    "`torch.no_grad()` instead of `torch.inference_mode()`."
)
_WRITTEN = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal tensor before "
    "doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)


class InferenceCounter(VersionCounter):
    """The counter of inference tensors: it has no version, so that nothing can save them."""

    __slots__ = ()

    @property
    def version(self) -> int:
        """Refuse: whoever asks for a version means to check it later."""
        raise fail("other", _SAVED)

    @version.setter
    def version(self, value: int) -> None:
        """Ignore what counts writes."""

    def bump(self, location: object) -> None:
        """Take a write within inference mode; refuse one outside of it."""
        if not inferring():
            raise fail("other", _WRITTEN)


def inferring() -> bool:
    """Whether inference mode is on."""
    return current().flags.get(_FLAG, False)  # type: ignore[no-any-return]


_IDLE = (unchanged, unchanged)


def switch(on: bool) -> None:
    """Set inference mode."""
    ambient = current()
    if on and not inferring():
        ambient.saved_hooks = (*ambient.saved_hooks, _IDLE)
    elif not on and inferring():
        ambient.saved_hooks = tuple(one for one in ambient.saved_hooks if one is not _IDLE)
    ambient.flags[_FLAG] = on


def is_inference(tensor: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return type(tensor.own_counter) is InferenceCounter


def version_of(tensor: Tensor) -> int:
    """Return a tensor's version; an inference tensor has none."""
    if is_inference(tensor):
        raise fail("other", "Inference tensors do not track version counter.", tensor=tensor)
    return tensor.counter.version


def marked(values: list[Any], found: object) -> object:
    """Return an operation's result, made an inference tensor if the mode is on and it is new: no view, no input as it is."""
    if not inferring():
        return found
    inputs = (one for value in values for one in (value if type(value) in {list, tuple} else (value,)))
    given = {id(one.counter) for one in inputs if isinstance(one, Tensor)}
    for one in found if isinstance(found, (tuple, list)) else (found,):
        if isinstance(one, Tensor) and id(one.counter) not in given and (one.meta is None or one.meta.view is None):
            one.own_counter = InferenceCounter()
    return found
