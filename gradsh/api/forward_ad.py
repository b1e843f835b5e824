"""torch.autograd.forward_ad: dual tensors, which carry a tangent along with their value."""

from typing import Any, NamedTuple

from gradsh.api.modes import _Mode
from gradsh.api.namespace import Live
from gradsh.engine.ambient import current
from gradsh.engine.dispatch.tangents import Level, activate, close, levels, opened, put, set_tangent, tangent_of
from gradsh.engine.dispatch.views import view_of
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor, gradient_edge
from gradsh.engine.registry import find
from gradsh.text.fault import fail

_LEVEL = "dual_level"
_SUSPENDED = "suspended_levels"


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: the value, and its tangent or None."""

    primal: Tensor
    tangent: Tensor | None


setattr(UnpackedDualTensor, "__script_attributes__", frozenset(UnpackedDualTensor._fields))  # noqa: B010  (no field of a named tuple)


def _level() -> Level | None:
    return current().flags.get(_LEVEL)


_current_level = Live(lambda: -1 if _level() is None else 0)


def enter_dual_level() -> int:
    """Begin the level of forward mode; there is one at a time."""
    if _level() is not None:
        raise fail("other", "Nested forward mode AD is not supported at the moment")
    current().flags[_LEVEL] = opened()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: every tangent is dropped."""
    entered = _level()
    if level is not None and level != (-1 if entered is None else 0):
        message = "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        raise fail("value", message)
    if entered is None:
        raise fail("other", "Dual level must be a positive number.")
    current().flags[_LEVEL] = None
    close(entered)


class dual_level(_Mode):
    """A context in which dual tensors can be made; also decorates functions."""

    __slots__ = ()

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *_: object) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    """Return whether tangents are followed where there are any."""
    return current().flags.get(_SUSPENDED) is None


def set_forward_mode(mode: bool) -> None:
    """Say whether tangents are followed."""
    suspended = current().flags.get(_SUSPENDED)
    if mode and suspended is not None:
        current().flags[_SUSPENDED] = None
        activate(suspended)
    elif not mode and suspended is None:
        current().flags[_SUSPENDED] = levels()
        activate(())


class _set_fwd_grad_enabled(_Mode):
    """Say whether tangents are followed, at once; as a context, put it back at the end."""

    __slots__ = ()

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._enabled = bool(mode)
        self._before = [_is_fwd_grad_enabled()]
        set_forward_mode(mode)

    def __enter__(self) -> None:
        set_forward_mode(self._enabled)

    def __exit__(self, *_: object) -> None:
        set_forward_mode(self._before[0])


def _chosen(level: int | None, name: str) -> Level | None:
    """Return the level of a number, by default the one that is entered; None where there is none."""
    entered = _level()
    if level is not None and level >= 0 and (level > 0 or entered is None):
        raise fail("value", f"Invalid level given to {name}")
    return None if level is not None and level < 0 else entered


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of `tensor` with a tangent: what is computed of it carries the derivative in that direction."""
    entered = _chosen(level, "_make_dual")
    if entered is None:
        message = "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        raise fail("other", message)
    for what, one in (("primal", tensor), ("tangent", tangent)):
        if not one.is_floating_point():
            raise fail("dtype", f"Expected {what} to be floating point or complex, but got: {one.dtype}", ValueError)
    if tangent_of(tensor, entered) is not None:
        message = "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        raise fail("value", message, tensor=tensor)
    if tangent_of(tangent, entered) is not None:
        message = "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        raise fail("value", message, tensor=tangent)
    dual: Tensor = find("view_as")(tensor, tensor)
    set_tangent(dual, entered, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value of a tensor without its tangent, and the tangent."""
    entered = _chosen(level, "_fw_primal")
    if entered is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(primal_of(tensor, entered), tangent_of(tensor, entered))


class _Identity(Node):
    """The node of a primal: hands the gradient on."""

    __slots__ = ()

    def name(self) -> str:
        """Return PyTorch's name."""
        return "torch::autograd::Identity"

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> list[Any]:
        """Hand the gradient on."""
        del needs
        return grads


def primal_of(tensor: Tensor, level: Level) -> Tensor:
    """Return a view of a tensor that has no tangent at a level, but those of outer levels."""
    recorded = current().grad_enabled and tensor.requires_grad
    node = _Identity((gradient_edge(tensor),), ((tensor.array.shape, tensor.array.dtype),)) if recorded else None
    primal = view_of(tensor, tensor.array, node, 0, "default" if current().grad_enabled else "no_grad")
    for one in levels():
        put(primal, one, None if one is level else tangent_of(tensor, one))
    return primal
