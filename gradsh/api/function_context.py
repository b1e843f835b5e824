"""`ctx`: what the forward and backward of a custom function get, and what `grad_fn` is for their results.

In PyTorch it is the node itself. Here it stands for the node: it offers what PyTorch offers, and whatever else a program sets
on it is the program's own, under every name, and reaches nothing of the engine.
"""

from typing import Any

from gradsh.engine.ambient import current
from gradsh.engine.attribute_names import ScriptBase
from gradsh.engine.dispatch.saved_hooks import RawSaved
from gradsh.engine.graph.node import Facade, Node, sequence_number
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail


class _Default:
    """An attribute that the object answers until the program sets its own of that name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, ctx: "BackwardCFunction", owner: type | None = None) -> Any:
        return self if ctx is None else getattr(ctx.__node__, self.name)


def _until_forward_is_over(slot: str, what: str) -> property:
    """Return the property of a slot of the node: tensors, None where there are none."""

    def tensors(ctx: "FunctionCtx") -> object:
        return getattr(ctx.__node__, slot) or None

    def keep(ctx: "FunctionCtx", given: object) -> None:
        setattr(ctx.__node__, slot, () if given is None else given if isinstance(given, tuple) else (given,))

    return property(tensors, keep, doc=what)


class FunctionCtx(Facade, ScriptBase):
    """Methods may be hidden by attributes of the same name, as in PyTorch; properties may not."""

    __slots__ = ("__dict__",)
    __script_base__ = False
    __node__: Any

    saved = _Default("saved")

    def __init__(self, node: Node) -> None:
        self.__node__ = node
        self.__dict__ = node.own

    # --- what forward says ------------------------------------------------------------------------------------------

    def save_for_backward(self, *tensors: object) -> None:
        """Save tensors (or None) for backward, which finds them in `saved_tensors`."""
        self.__node__.to_save = tensors

    def save_for_forward(self, *tensors: object) -> None:
        """Save tensors (or None) for jvp, which finds them in `saved_tensors` until the call is over."""
        if not all(one is None or isinstance(one, Tensor) for one in tensors):
            message = "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
            raise fail("assert", message, AssertionError)
        self.__node__.for_forward = tensors

    def mark_dirty(self, *tensors: object) -> None:
        """Say which inputs forward modified in place; they must be returned."""
        self.__node__.dirty = tensors

    def mark_non_differentiable(self, *tensors: object) -> None:
        """Say which outputs have no gradient."""
        self.__node__.undifferentiable = tensors

    def mark_shared_storage(self, *pairs: object) -> None:
        """Do nothing but warn: PyTorch finds shared storage by itself."""
        current().warning(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls to "
            "`set_()` are not tracked"
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether backward gets zeros (True) or None for outputs that no gradient reached."""
        self.__node__.materialize = bool(value)

    @property
    def _materialize_non_diff_grads(self) -> bool:
        """Whether backward gets zeros for outputs marked as not differentiable."""
        return self.__node__.materialize_undifferentiable

    @_materialize_non_diff_grads.setter
    def _materialize_non_diff_grads(self, value: object) -> None:
        self.__node__.materialize_undifferentiable = bool(value)

    to_save = _until_forward_is_over("to_save", "What save_for_backward was given, until forward is over.")
    dirty_tensors = _until_forward_is_over("dirty", "What mark_dirty was given, until forward is over.")
    non_differentiable = _until_forward_is_over(
        "undifferentiable", "What mark_non_differentiable was given, until forward is over."
    )

    # --- what backward reads ----------------------------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple[object, ...]:
        """The saved tensors; raises once they are freed or where one was modified in place."""
        node = self.__node__
        if node.for_forward is not None:
            return node.for_forward
        return tuple(node.unpack(0, as_tensor=True)) if node.entries else ()

    @property
    def _raw_saved_tensors(self) -> tuple[RawSaved, ...]:
        """A place for each saved tensor, on which hooks can be set."""
        node = self.__node__
        return tuple(RawSaved(node, 0, part) for part in range(len(node.unpack(0, as_tensor=False)))) if node.entries else ()

    @property
    def saved_variables(self) -> tuple[object, ...]:
        """The old name of the saved tensors."""
        current().warning("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """Whether each argument of forward requires a gradient."""
        return self.__node__.needs_input_grad

    @needs_input_grad.setter
    def needs_input_grad(self, value: object) -> None:
        self.__node__.needs_input_grad = value

    # --- what every node offers -------------------------------------------------------------------------------------

    @property
    def next_functions(self) -> Any:
        """The nodes that receive the gradients: (node or None, its output number), input by input."""
        return self.__node__.next_functions

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes."""
        return self.__node__.metadata

    @property
    def requires_grad(self) -> bool:
        """Whether any argument requires a gradient."""
        return any(self.__node__.needs_input_grad)

    def name(self) -> str:
        """Return the function's name with Backward."""
        return self.__node__.name()

    def register_hook(self, hook: object) -> object:
        """Call `hook(grad_inputs, grad_outputs)` after the node has run; a returned tuple replaces grad_inputs."""
        return self.__node__.register_hook(hook)

    def register_prehook(self, hook: object) -> object:
        """Call `hook(grad_outputs)` before the node runs; a returned tuple replaces grad_outputs."""
        return self.__node__.register_prehook(hook)

    def _sequence_nr(self) -> int:
        return sequence_number(self.__node__)

    def _set_sequence_nr(self, number: int) -> None:
        self.__node__._set_sequence_nr(number)

    def __getattr__(self, name: str) -> Any:
        text = f"'{self.__node__.name()}' object has no attribute '{name}'"
        raise fail("attribute", text, AttributeError, owner=self, name=name)

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.__node__.name()} object at {id(self.__node__):#x}>"

    def __reduce_ex__(self, _: object) -> str | tuple[object, ...]:
        raise fail("type", f"cannot pickle '{self.__node__.name()}' object", TypeError, node=self.__node__)


class BackwardCFunction(FunctionCtx):
    """What stands for the nodes of custom functions: the base of a class for each function."""

    __slots__ = ()
