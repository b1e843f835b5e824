"""The methods and attributes of Tensor that rest on views, backward passes and hooks: they are put on the class from above."""

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gradsh.engine.ambient import check_no_transform, current
from gradsh.engine.dispatch.attributes import (
    assign_requires_grad,
    check_assigned_data,
    check_assigned_grad,
    deep_copy,
    set_requires_grad,
    warn_non_leaf_grad,
)
from gradsh.engine.dispatch.inference import inferring, is_inference, version_of
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.tensor import AccumulateGrad, Parameter, Tensor, autograd_meta, make
from gradsh.text.fault import fail

if TYPE_CHECKING:
    _Base = Tensor
else:
    _Base = object


def _undeletable(shown: Callable[[Any], object], name: str, sentence: str) -> property:
    def refuse(self: object) -> None:
        raise fail("attribute", f"Deletion of {name} not allowed{sentence}", tensor=self)

    return property(shown, None, refuse)


def _set_hooks(self: Any, hooks: Any) -> None:
    autograd_meta(self).hooks = {} if hooks is None else hooks  # the program's own dictionary, which it may fill later


def _hooks(self: Any) -> object:
    hooks = None if self.meta is None else self.meta.hooks
    return None if type(hooks) is dict and not hooks else hooks


class _Methods(_Base):
    """What Tensor gets."""

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is wanted with respect to this tensor, or flows through it."""
        if not self.needs_grad and self.meta is not None and self.meta.view is not None:
            return self.meta.view.base.needs_grad
        return self.needs_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        assign_requires_grad(self, value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise fail("type", "requires_grad must be a bool", tensor=self)

    @property
    def grad(self) -> "Tensor | None":
        """The gradient accumulated so far; None before the first backward. Of a non-leaf: only after retain_grad."""
        meta = self.meta
        if meta is None:
            if self.edge is not None:
                warn_non_leaf_grad()
            return None
        if meta.grad is None and self.needs_grad and not meta.retains and self.edge is not None:
            warn_non_leaf_grad()
        return meta.grad

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        if value is not None:
            check_assigned_grad(self, value)
        autograd_meta(self).grad = value

    @grad.deleter
    def grad(self) -> None:
        autograd_meta(self).grad = None

    @property
    def _version(self) -> int:
        return version_of(self)

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return is_inference(self)

    @property
    def data(self) -> "Tensor":
        """The same memory with no history and a version counter of its own: writes to it are not noticed."""
        return make(self.array)

    @data.setter
    def data(self, value: "Tensor") -> None:
        check_assigned_data(self, value)
        before = self.array
        self.array = value.array
        self.descriptor = None
        from gradsh.engine.autograd.replace_saved import replace_data

        replace_data(self, before)
        if self.meta is not None and before.dtype != self.array.dtype:
            self.meta.accumulator = None

    @data.deleter
    def data(self) -> None:
        raise fail("attribute", "Deleting tensor data is not allowed. Delete tensor instead!", tensor=self)

    _grad_fn = _undeletable(lambda self: self.grad_fn, "_grad_fn", ". Detach tensor instead!")
    _backward_hooks = _undeletable(_hooks, "_backwards_hooks", "!").setter(_set_hooks)

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None,
    ) -> None:
        """Compute the gradients of this tensor with respect to the graph's leaves and add them to their `.grad`.

        `gradient` has this tensor's shape (may be left out for one element). Saved tensors are freed unless
        `retain_graph` (default: `create_graph`). `inputs`: accumulate into these tensors only.
        Raises RuntimeError of the kinds freed, version, no_grad, scalar, grad_shape.
        """
        from gradsh.engine.autograd.backward import backward

        check_no_transform()
        if gradient is not None:
            gradient = (gradient,) if isinstance(gradient, Tensor) else tuple(gradient)
        backward((self,), gradient, retain_graph, create_graph, inputs)

    def detach(self) -> "Tensor":
        """Return a leaf that shares memory and version counter but has no history."""
        from gradsh.engine.dispatch.views import detached

        return detached(self)

    def detach_(self) -> "Tensor":
        """Cut this tensor off its history, in place; within inference mode, which looks at no history, do nothing."""
        if inferring():
            return self
        if self.meta is not None and self.meta.view is not None:
            message = (
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
            raise fail("view_inplace", message, tensor=self)
        from gradsh.engine.autograd.replace_saved import cut_off

        cut_off(self)
        if self.meta is not None:
            self.meta.tangents = None
        self.edge = None
        self.needs_grad = False
        return self

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Ask for a gradient with respect to this leaf (or no longer), and return it."""
        if not isinstance(requires_grad, bool):
            found = type(requires_grad).__name__
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {found}")
        if requires_grad and self.array.dtype.kind != "f":
            raise fail("dtype", "only Tensors of floating point dtype can require gradients", tensor=self)
        set_requires_grad(self, requires_grad)
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in its `.grad` at each backward. No effect on leaves."""
        from gradsh.engine.autograd.hooks import retain_grad

        retain_grad(self)

    def register_hook(self, hook: Callable[["Tensor"], object]) -> Handle:
        """Call `hook(grad)` whenever this tensor's gradient is computed; a returned tensor replaces it."""
        from gradsh.engine.autograd.hooks import register_hook

        return register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[["Tensor"], object]) -> Handle:
        """Call `hook(leaf)` after its `.grad` has been added to. Leaves only."""
        from gradsh.engine.autograd.hooks import register_post_accumulate_grad_hook

        return register_post_accumulate_grad_hook(self, hook)

    def __reduce_ex__(self, _: object) -> Any:
        return rebuilt, (isinstance(self, Parameter), self.array, self.requires_grad)

    def __deepcopy__(self, memo: dict[int, object]) -> "Tensor":
        return deep_copy(self, memo)

    def __repr__(self) -> str:
        from gradsh.engine.printing.repr import show

        return show(self)


def rebuilt(parameter: bool, array: Any, requires_grad: bool) -> "Tensor":
    """Return the tensor that was pickled, a leaf."""
    return (Parameter(make(array)) if parameter else make(array)).requires_grad_(requires_grad)


def _parameter_repr(self: Parameter) -> str:
    from gradsh.engine.printing.format import format_parameter

    return format_parameter(Tensor.__repr__(self))


def _accumulate(self: AccumulateGrad, grads: list[Any], _needs: object) -> tuple[()]:
    from gradsh.engine.autograd.hooks import accumulate

    recorded = grads[0].requires_grad
    accumulate(self, grads[0] if recorded else grads[0].array, recorded, False, current().location())
    return ()


setattr(AccumulateGrad, "run", _accumulate)  # noqa: B010  (called by a program: a pass has its own way)
for _name, _value in vars(_Methods).items():
    if isinstance(_value, FunctionType):
        _value.__qualname__ = f"Tensor.{_name}"  # Python's errors say it
    if callable(_value) or isinstance(_value, property):
        setattr(Tensor, _name, _value)
setattr(Parameter, "__repr__", _parameter_repr)  # noqa: B010  (which a type checker would refuse)
