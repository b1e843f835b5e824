"""functorch: a module as a function of its parameters, in the form that preceded `torch.func.functional_call`."""

from collections.abc import Callable, Iterable
from typing import Any

from gradsh.api.copying import deepcopy
from gradsh.api.func import functional_call, stack_module_state
from gradsh.engine.ambient import current
from gradsh.text.fault import fail

Function = Callable[..., Any]


def make_functional(model: Any, disable_autograd_tracking: bool = False) -> tuple[Function, tuple[Any, ...]]:
    """Return a function of parameters and inputs, and a copy of the module's parameters."""
    _deprecated("make_functional", "functional_call")
    if any(True for _ in model.buffers()):
        message = "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        raise fail("value", message)
    function, parameters, _ = _made(model, disable_autograd_tracking)
    return lambda params, *args, **kwargs: function(params, (), *args, **kwargs), parameters


def make_functional_with_buffers(
    model: object, disable_autograd_tracking: bool = False
) -> tuple[Function, tuple[Any, ...], tuple[Any, ...]]:
    """Return a function of parameters, buffers and inputs, and copies of the module's parameters and buffers."""
    _deprecated("make_functional_with_buffers", "functional_call")
    return _made(model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Any) -> tuple[Function, tuple[Any, ...], tuple[Any, ...]]:
    """Return a function of parameters, buffers and inputs, and those of equal modules, stacked along a new first axis."""
    _deprecated("combine_state_for_ensemble", "stack_module_state")
    function, _, _ = _made(models[0], False)
    parameters, buffers = stack_module_state(models)
    return function, tuple(one.detach() for one in parameters.values()), tuple(buffers.values())


def _made(model: object, untracked: bool) -> tuple[Function, tuple[Any, ...], tuple[Any, ...]]:
    module = deepcopy(model)
    parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
    if untracked:
        for parameter in parameters.values():
            parameter.requires_grad_(False)

    def function(params: Iterable[Any], others: Iterable[Any], *args: object, **kwargs: object) -> Any:
        given = dict(zip((*parameters, *buffers), (*params, *others), strict=True))
        return functional_call(module, given, args, kwargs)

    return function, tuple(parameters.values()), tuple(buffers.values())


def _deprecated(name: str, newer: str) -> None:
    current().warning(
        "We've integrated functorch into PyTorch. As the final step of the integration, "
        f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
        f"Please use `torch.func.{newer}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide "
        "for more details https://pytorch.org/docs/main/func.migrating.html"
    )
