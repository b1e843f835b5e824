"""A module's forward and backward hooks, and the call of a module that has some.

Backward hooks stand on the nodes of an identity function put around the module's inputs and outputs, so they see the
gradients of exactly these, in PyTorch's order.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from gradsh.api.function import Function
from gradsh.api.nn.walk import HOOKS
from gradsh.engine.ambient import current
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.node import Node
from gradsh.engine.graph.tensor import Tensor
from gradsh.text.fault import fail

_FIRES_AT_OUTPUTS = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook "
    "for more details."
)


class Hooks:
    """The hooks of one module, by sort, in the order in which they run."""

    __slots__ = ("always", "full", "kwargs", "tables")

    def __init__(self) -> None:
        sorts = ("forward_pre", "forward", "backward", "backward_pre")
        self.tables: dict[str, OrderedDict[int, Callable[..., Any]]] = {sort: OrderedDict() for sort in sorts}
        self.kwargs: set[int] = set()
        self.always: set[int] = set()
        self.full: bool | None = None
        """Whether the backward hooks are of the newer sort; None before there was any."""

    def add(self, sort: str, hook: Callable[..., object], prepend: bool, with_kwargs: bool = False) -> Handle:
        """Add a hook of a sort (first with `prepend`) and return its handle."""
        table = self.tables[sort]
        handle = Handle(table, hook)
        if prepend:
            table.move_to_end(handle.id, last=False)
        if with_kwargs:
            self.kwargs.add(handle.id)
        return handle


    def add_backward(self, hook: Callable[..., object], full: bool, prepend: bool = False) -> Handle:
        """Add a backward hook. Raises RuntimeError where the module has some of the other sort."""
        if self.full not in (None, full):
            message = (
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
            )
            raise fail("value", message)
        self.full = full
        return self.add("backward", hook, prepend)


def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a module's forward with its hooks around it."""
    hooks: Hooks = module.__dict__[HOOKS]
    ran: set[int] = set()
    try:
        return _call(module, hooks, args, kwargs, ran)
    except Exception:
        for number, hook in list(hooks.tables["forward"].items()):
            if number in hooks.always and number not in ran:
                more = (kwargs,) if number in hooks.kwargs else ()
                hook(module, args, *more, None)
        raise


def _call(module: Any, hooks: Hooks, args: tuple[object, ...], kwargs: dict[str, Any], ran: set[int]) -> object:
    args, kwargs = _before(module, hooks, args, kwargs)
    around = None
    backward = list(hooks.tables["backward"].values())
    if (backward and hooks.full) or hooks.tables["backward_pre"]:
        around = _Around(module, backward if hooks.full else [], list(hooks.tables["backward_pre"].values()))
        args = around.inputs(args)
    result = module.forward(*args, **kwargs)
    for number, hook in list(hooks.tables["forward"].items()):
        ran.add(number)
        more = (kwargs,) if number in hooks.kwargs else ()
        found = hook(module, args, *more, result)
        if found is not None:
            result = found
    if around is not None:
        result = around.outputs(result)
    if backward and not hooks.full:
        _hook_last_node(module, backward, args, result)
    return result


def _hook_last_node(module: object, hooks: list[Any], args: tuple[object, ...], result: Any) -> None:
    """Let older hooks see what the node of the first output gets and gives, and warn where that is not the whole module's."""
    first = result
    while not isinstance(first, Tensor):
        first = next(one for one in first.values() if isinstance(one, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(partial(hook, module))
    if missing := _missing(args, result, node):
        current().warning(missing, FutureWarning)


_DEPRECATED = "is deprecated and will be removed in future versions. This hook will be missing"
_FULL = "Please use register_full_backward_hook to get the documented behavior."


def _missing(args: tuple[object, ...], result: object, node: Any) -> str:
    """Return PyTorch's warning about the gradients that an older hook on a node does not see, or ""."""
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(one, Tensor) for one in results):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
            f"{_DEPRECATED} some of the grad_output. {_FULL}"
        )
    if not all(isinstance(one, Tensor) for one in args):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors "
            f"{_DEPRECATED} some of the grad_input. {_FULL}"
        )
    if len(_nodes(results)) > 1:
        return (
            f"Using a non-full backward hook when outputs are generated by different autograd Nodes {_DEPRECATED} some grad_output. {_FULL}"
        )
    if _nodes(args) != {following for following, _ in node.next_functions}:
        return f"Using a non-full backward hook when the forward contains multiple autograd Nodes {_DEPRECATED} some grad_input. {_FULL}"
    return ""


def _nodes(tensors: tuple[Any, ...]) -> set[object]:
    return {one.grad_fn for one in tensors if one.grad_fn is not None}


def _before(
    module: object, hooks: Hooks, args: tuple[object, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for number, hook in list(hooks.tables["forward_pre"].items()):
        if number in hooks.kwargs:
            found = hook(module, args, kwargs)
            if found is None:
                continue
            if not isinstance(found, tuple) or len(found) != 2:
                message = f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}."
                raise fail("value", message)
            args, kwargs = found
        else:
            found = hook(module, args)
            if found is not None:
                args = found if isinstance(found, tuple) else (found,)
    return args, kwargs


class BackwardHookFunction(Function):
    """The identity, on whose node a module's backward hooks stand."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Return the arguments."""
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Return the gradients."""
        del ctx
        return args


class _Around:
    """The backward hooks of one call of a module."""

    def __init__(self, module: object, hooks: list[Any], prehooks: list[Any]) -> None:
        self.module = module
        self.hooks = hooks
        self.prehooks = prehooks
        self.grad_outputs: Any = None
        self.input_places: list[int] | None = None
        self.output_places: list[int] | None = None
        self.inputs_count = 0
        self.outputs_count = 0

    def inputs(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        """Return the inputs behind the node on which the hooks stand."""
        args, self.input_places = _identity(args, self._at_inputs)
        self.inputs_count = len(args)
        return args

    def outputs(self, result: Any) -> Any:
        """Return the result behind the node on which the pre-hooks stand."""
        if not isinstance(result, (Tensor, tuple)):
            current().warning(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}"
            )
        many = isinstance(result, tuple)
        found, self.output_places = _identity(result if many else (result,), self._at_outputs)
        self.outputs_count = len(found)
        return found if many else found[0]

    def _at_inputs(self, node: Node) -> None:
        def hook(grad_input: object, _: object) -> object:
            if self.grad_outputs is None:
                return None  # a gradient that came past the module's output
            gradients = _spread(self.input_places, grad_input, self.inputs_count)
            for one in self.hooks:
                found = one(self.module, gradients, self.grad_outputs)
                gradients = _replaced(gradients, found, "Backward hook returned an invalid number of grad_input")
            self.grad_outputs = None
            assert self.input_places is not None
            return tuple(gradients[place] for place in self.input_places)

        node.register_hook(hook)

    def _at_outputs(self, node: Node) -> None:
        def hook(_: object, grad_output: object) -> object:
            gradients = _spread(self.output_places, grad_output, self.outputs_count)
            for one in self.prehooks:
                found = one(self.module, gradients)
                gradients = _replaced(gradients, found, "Backward pre hook returned an invalid number of grad_output")
            self.grad_outputs = gradients
            if self.input_places is None:
                self._fire()
            assert self.output_places is not None
            return tuple(gradients[place] for place in self.output_places)

        node.register_hook(hook)

    def _fire(self) -> None:
        current().warning(_FIRES_AT_OUTPUTS)
        for one in self.hooks:
            found = one(self.module, (None,) * self.inputs_count, self.grad_outputs)
            if found is not None and not (isinstance(found, tuple) and all(each is None for each in found)):
                message = (
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
                raise fail("value", message)
        self.grad_outputs = None


def _replaced(gradients: tuple[Any, ...], found: Any, message: str) -> tuple[Any, ...]:
    """Return the gradients, or as many that a hook returned in their place."""
    if found is None:
        return gradients
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(gradients):
        raise fail("value", f"{message}, got {len(found)}, but expected {len(gradients)}")
    return found


def _identity(args: tuple[Any, ...], place_hook: Callable[[Node], None]) -> tuple[tuple[Any, ...], list[int] | None]:
    """Put tensors behind one identity node; return them and their places (None where nothing needs a gradient)."""
    places = [place for place, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not current().grad_enabled or not any(args[place].requires_grad for place in places):
        return args, None
    found = list(args)
    fresh = BackwardHookFunction.apply(*(args[place] for place in places))
    for place, one in zip(places, fresh, strict=True):
        found[place] = one
    node = next(one.grad_fn for one in fresh if one.grad_fn is not None)
    place_hook(node)
    return tuple(found), places


def _spread(places: list[int] | None, values: Any, count: int) -> tuple[Any, ...]:
    found: list[Any] = [None] * count
    for place, value in zip(places or (), values, strict=False):
        found[place] = value
    return tuple(found)
