"""torch.autograd.Function: operations that a script writes, with their own backward.

The `ctx` that forward and backward receive stands for the node (`function_context.py`). Saved tensors are kept as any
node's are, so they are listed, freed and checked for versions alike.
"""

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradsh.api.function_context import BackwardCFunction
from gradsh.api.function_jvp import Pushing
from gradsh.engine.ambient import BATCHED, TRANSFORMED, current, grad_mode
from gradsh.engine.attribute_names import ScriptBase
from gradsh.engine.autograd.gradient_versions import note
from gradsh.engine.dispatch.op_node import invalid_gradient, sum_tensor_to, tangents_to_save
from gradsh.engine.dispatch.saved_hooks import pack_entries
from gradsh.engine.dispatch.tangents import following_nothing
from gradsh.engine.dispatch.views import is_tracked, rebase, view_of
from gradsh.engine.graph.delayed_error import delayed_error
from gradsh.engine.graph.node import Facade, Node, titled
from gradsh.engine.graph.saved import SavedVariable
from gradsh.engine.graph.tensor import ArrayOrTensor, Tensor, gradient_edge, make
from gradsh.engine.values.dtype import of_numpy
from gradsh.engine.values.reduced import cast
from gradsh.engine.values.shape import expandable, sum_to
from gradsh.text.fault import fail


class FunctionNode(Node):
    """The node of a custom function. `own` holds what the program puts on its ctx, and lives as long as the graph."""

    __slots__ = (
        "_args", "_context", "_function", "_given", "_inputs", "_shapes", "creation", "dirty", "for_forward", "materialize",
        "materialize_undifferentiable", "needs_input_grad", "own", "to_save", "undifferentiable",
    )

    def __init__(self, function: "type[Function]", args: tuple[object, ...], recorded: bool) -> None:
        tensors = [one for one in args if isinstance(one, Tensor)]
        super().__init__(tuple(gradient_edge(one) for one in tensors) if recorded else (), ())
        self._function = function
        self._args = len(args)
        self._given = tuple(isinstance(one, Tensor) for one in args)
        self._inputs = tuple((one.array.shape, one.array.dtype) for one in tensors)
        self._shapes: tuple[Any, ...] = ()
        self.materialize = self.materialize_undifferentiable = True
        self.to_save = ()
        self.for_forward: object = None
        self.dirty: Any = ()
        self.undifferentiable: Any = ()
        self.own: dict[str, Any] = {}
        self.creation = "default"  # of its outputs, where they are views
        self._context: Any = None
        self.needs_input_grad = tuple(isinstance(one, Tensor) and is_tracked(one) for one in args)

    def facade(self) -> BackwardCFunction | Facade:
        """Return the `ctx`: the same object as long as somebody holds it."""
        found = None if self._context is None else self._context()
        if found is None:
            found = class_of_nodes(self._function)(self)
            self._context = weakref.ref(found)
        return found

    def name(self) -> str:
        """Return the function's name with Backward."""
        return self._function.__name__ + "Backward"

    def saved_names(self) -> Sequence[str]:
        """Return the one name under which all saved tensors stand, numbered."""
        return ("saved_tensors",) if self.entries else ()

    def has_saved(self) -> bool:
        """Whether there is any saved tensor that a pass would free."""
        entries = self.entries
        return type(entries) is tuple and any(one is not None for entry in entries for one in entry)

    def run(self, grads: list[Any], needs: tuple[bool, ...]) -> Sequence[Any]:
        """Call the script's backward and check what it returns."""
        running = current().running
        recorded = any(isinstance(one, Tensor) for one in grads) or (running is not None and running.create)
        given = [self._shown(place, one) for place, one in enumerate(grads)]
        found = _backward_of(self._function)(self.facade(), *given)
        return self._checked(found if isinstance(found, tuple) else (found,), needs, recorded)

    def _shown(self, place: int, grad: object) -> Tensor | None:
        if isinstance(grad, Tensor):
            return grad
        if grad is not None:
            return make(np.asarray(grad))
        shape = self._shapes[place]
        if shape is None or not self.materialize:
            return None
        return make(np.zeros(*shape))

    def _checked(self, found: tuple[object, ...], needs: tuple[bool, ...], recorded: bool) -> list[Any]:
        expected = self._args
        if len(found) > expected and all(one is None for one in found[expected:]):
            found = found[:expected]
        if len(found) != expected:
            message = (
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got {len(found)})"
            )
            raise fail("other", message, node=self)
        results: list[object] = []
        for place, one in enumerate(found):
            if not self._given[place]:
                if one is not None:
                    message = (
                        f"function {self.name()} returned a gradient different than None at position {place + 1}, but the "
                        "corresponding forward input was not a Variable"
                    )
                    raise fail("value", message, node=self)
                continue
            if one is not None and not isinstance(one, Tensor):
                raise fail("type", f"expected Variable or None (got {type(one).__name__})", node=self)
            target = len(results)
            results.append(self._fit(one, target, recorded) if one is not None and needs[target] else None)
        return results

    def _fit(self, grad: Tensor, target: int, recorded: bool) -> ArrayOrTensor:
        shape, dtype = self._inputs[target]
        if grad.array.shape != shape and not expandable(shape, grad.array.shape):
            raise invalid_gradient(self, target, grad.array.shape, shape)
        if not recorded:
            array = sum_to(grad.array, shape) if grad.array.shape != shape else grad.array
            if array.dtype != dtype:
                return cast(array, dtype)
            if array is grad.array and grad.counter.version:
                note(array, grad.counter.version)
            return array
        if grad.array.shape != shape:
            grad = sum_tensor_to(grad, shape)
        return grad if grad.array.dtype == dtype else grad.to(of_numpy(dtype))

    def keep_saved(self) -> None:
        """Keep what save_for_backward was given, as it is after forward."""
        saved, self.to_save = self.to_save, ()
        if not saved:
            self.entries = ([],)  # an empty list can be freed, too: PyTorch then refuses `saved_tensors`
            return
        self.entries = ([None if one is None else self._kept(one) for one in saved],)
        if current().saved_hooks:
            pack_entries(self)

    def _kept(self, tensor: Tensor) -> SavedVariable:
        own = tensor.edge is not None and tensor.edge[0] is self
        edge: Any = tensor.edge[1] if own and tensor.edge is not None else gradient_edge(tensor)
        origin = None if own else weakref.ref(tensor)
        return SavedVariable(tensor.array, tensor.counter, tensor.counter.version, edge, None, tangents_to_save(tensor), origin)


def _backward_of(function: "type[Function]") -> Callable[..., object]:
    own, other = function.backward, function.vjp
    if own is not Function.backward and other is not Function.vjp:
        message = (
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
            "them."
        )
        raise fail("type", message)
    return other if own is Function.backward else own


class _ClassOfNodes:
    """The class of a function's nodes, as programs see them."""

    def __get__(self, _: Any, function: Any = None) -> type:
        return class_of_nodes(function)


def class_of_nodes(function: type) -> type:
    """Return the class of what stands for the nodes of a function."""
    return titled(BackwardCFunction, function.__name__ + "Backward", "torch.autograd.function")


class Function(ScriptBase):
    """Base of custom functions: static `forward(ctx, ...)` and `backward(ctx, *grads)`, called with `apply(...)`."""

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        current().warning(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself. Instantiating an autograd function will raise an error in a future version of "
            "PyTorch.", DeprecationWarning,
        )

    def __call__(self, *_args: object, **_kwargs: object) -> Any:
        """Refuse the form of old, where a function was an object."""
        message = (
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )
        raise fail("type", message)

    @staticmethod
    def forward(*_args: Any, **_kwargs: Any) -> Any:
        """Compute the outputs; subclasses define it."""
        raise fail("type", "You must implement the forward function for custom autograd.Function.", NotImplementedError)

    @staticmethod
    def setup_context(ctx: object, inputs: tuple[object, ...], output: object) -> None:
        """Save for backward, where forward takes no ctx; subclasses may define it."""
        del ctx, inputs, output
        raise fail("type", "setup_context is not implemented.", NotImplementedError)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Return one gradient for each argument of forward; subclasses define it."""
        del ctx, grad_outputs
        message = (
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )
        raise fail("type", message, NotImplementedError)

    vjp = backward

    @staticmethod
    def jvp(ctx: object, *grad_inputs: object) -> object:
        """Return the tangent of each output from those of the arguments; subclasses define it."""
        del ctx, grad_inputs
        message = "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        raise fail("type", message, NotImplementedError)

    @staticmethod
    def vmap(info: object, in_dims: object, *args: object) -> object:
        """Compute the outputs of a batch; subclasses may define it. gradsh's vmap calls the function for each example."""
        del info, in_dims, args
        message = (
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )
        raise fail("type", message, NotImplementedError)

    generate_vmap_rule = False
    _backward_cls = _ClassOfNodes()

    @classmethod
    def apply(cls, *args: object, **kwargs: object) -> Any:
        """Run forward on the arguments and put the function into the graph."""
        apart = cls.setup_context is not Function.setup_context
        if current().flags.get(TRANSFORMED) and not cls.__module__.startswith("gradsh."):
            _check_transformed(cls, apart)
        if kwargs or apart:
            args = _bound(cls, args, kwargs, apart)
        recorded = current().grad_enabled and any(isinstance(one, Tensor) and is_tracked(one) for one in args)
        node = FunctionNode(cls, args, recorded)
        ctx = node.facade()
        pushing = Pushing(args)
        with grad_mode(False), following_nothing():
            if apart:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        many = isinstance(output, tuple)
        outputs = list(output) if many else [output]
        placed = _Outputs(node, args, outputs, recorded)
        wrapped = placed.wrap()
        if pushing.before:
            pushing.run(cls, placed, wrapped)
        if recorded:
            node.keep_saved()
        node.to_save, node.for_forward = (), None
        return tuple(wrapped) if many else wrapped[0]


_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def _check_transformed(cls: Any, apart: bool) -> None:
    """Refuse a function within a transform of torch.func that PyTorch could not transform."""
    if not apart:
        message = "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
        raise fail("value", f"{message}setup_context staticmethod. {_MORE}")
    if not current().flags.get(BATCHED):
        return
    own = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own:
        message = f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
        way = "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. "
        raise fail("value", message + way + _MORE)
    if not cls.generate_vmap_rule and not own:
        message = f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
        raise fail("value", f"{message}staticmethod or set generate_vmap_rule=True. {_MORE}")


def _bound(cls: type[Function], args: tuple[object, ...], kwargs: dict[str, object], apart: bool) -> tuple[object, ...]:
    """Return all arguments by position."""
    signature = inspect.signature(cls.forward)
    first = () if apart else (None,)
    try:
        bound = signature.bind(*first, *args, **kwargs)
    except TypeError as error:
        raise fail("type", str(error) if apart else f"forward() {error}", TypeError) from None
    bound.apply_defaults()
    return bound.args[len(first):]


class _Outputs:
    """Giving the outputs of a custom function their place in the graph."""

    __slots__ = ("dirty", "inputs", "node", "outputs", "recorded", "undifferentiable")

    def __init__(self, node: FunctionNode, args: tuple[object, ...], outputs: list[Any], recorded: bool) -> None:
        self.node = node
        self.outputs = outputs
        self.recorded = recorded
        self.inputs = {id(one) for one in args if isinstance(one, Tensor)}
        _check_tensors("save_for_backward can only save variables, but argument {} is of type {}", node.to_save)
        for one in node.dirty:
            if not isinstance(one, Tensor):
                raise fail("type", "mark_dirty can only accept variables, but argument ", node=node)
        self.dirty = {id(one) for one in node.dirty}
        self.undifferentiable = {id(one) for one in node.undifferentiable}

    def wrap(self) -> list[Any]:
        """Return the outputs, each with its history."""
        node = self.node
        if not self.dirty <= {id(one) for one in self.outputs}:
            message = (
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                "modified inplace must all be outputs of the Function."
            )
            raise fail("value", message, node=node)
        shapes = [(one.array.shape, one.array.dtype) if isinstance(one, Tensor) else None for one in self.outputs]
        silent = () if node.materialize_undifferentiable else self.undifferentiable
        node._shapes = tuple(None if id(one) in silent else shape for one, shape in zip(self.outputs, shapes, strict=True))
        node.outputs = tuple(((), np.dtype(np.float32)) if one is None else one for one in shapes)
        for one in node.dirty:
            one.counter.bump(node.location)
        node.dirty = node.undifferentiable = ()
        wrapped = [self._one(place, one) for place, one in enumerate(self.outputs)]
        if sum(isinstance(one, Tensor) and one.edge is not None and one.edge[0] is node for one in wrapped) > 1:
            for one in wrapped:
                if isinstance(one, Tensor) and one.meta is not None and one.meta.view is not None:
                    one.meta.view.creation = node.creation = "multi"
        return wrapped

    def _one(self, place: int, output: object) -> object:
        if not isinstance(output, Tensor):
            return output
        given = id(output) in self.inputs
        differentiable = self.recorded and id(output) not in self.undifferentiable and output.array.dtype.kind == "f"
        if not differentiable:
            if given and (is_tracked(output) or id(output) not in self.dirty):
                return output.detach()
            if output._base is None and not given:
                output.detach_()
            return self._as_view(place, output)
        if id(output) in self.dirty:
            return self._modified(place, output, given)
        if given:
            self.node.creation = "custom"
            return view_of(output, output.array, self.node, place, "custom")
        output.edge = (self.node, place)
        output.needs_grad = True
        return self._as_view(place, output)

    def _as_view(self, place: int, output: Tensor) -> Tensor:
        """Note of an output that is a view, made by forward, which function made it."""
        if output.meta is not None and output.meta.view is not None:
            view = output.meta.view
            view.creation = self.node.creation = "custom"
            view.made_by = (self.node.name(), place)
            view.version = output.counter.version
        return output

    def _modified(self, place: int, output: Tensor, given: bool) -> Tensor:
        if is_tracked(output) and output.edge is None:
            message = "a leaf Variable that requires grad has been used in an in-place operation."
            raise fail("leaf_inplace", message, tensor=output, leaf=output)
        view = output._base is not None
        if not given:
            message = (
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should "
                "be passed to ctx.mark_dirty()."
            )
            if view:
                raise fail("value", message, node=self.node)
            current().warning(message)
        if view and len(self.outputs) > 1:
            message = (
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
                "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
                "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
                "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
                "second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you "
                "need help to do this change."
            )
            raise fail("view_inplace", message, tensor=output)
        rebase(output, self.node)
        if not view:
            output.edge = (self.node, place)
        return output


def _check_tensors(message: str, values: tuple[object, ...]) -> None:
    for place, one in enumerate(values):
        if one is not None and not isinstance(one, Tensor):
            raise fail("type", message.format(place, type(one).__name__), TypeError)


def once_differentiable(fn: Callable[..., object]) -> Callable[..., object]:
    """Decorate a backward that cannot be differentiated itself: doing so raises."""

    @functools.wraps(fn)
    def wrapper(ctx: object, *args: object) -> object:
        with grad_mode(False):
            outputs = fn(ctx, *args)
        if not current().grad_enabled or not any(isinstance(one, Tensor) and is_tracked(one) for one in args):
            return outputs
        found = outputs if isinstance(outputs, tuple) else (outputs,)
        leaves = [one.detach().requires_grad_() if isinstance(one, Tensor) else one for one in found]
        results = tuple(delayed_error("trying to differentiate twice a function that was marked with @once_differentiable", leaves))
        return results if isinstance(outputs, tuple) else results[0]

    return wrapper


class InplaceFunction(Function):
    """The old base of functions that write in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
