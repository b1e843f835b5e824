"""What all optimizers share: parameter groups, state, saving and loading it, zero_grad, and the loop of a step.

An update (`_update`) writes numpy arrays in place and bumps the parameter's version as often as PyTorch's (one tensor at a time)
does; nothing of it is recorded. Where a group is `differentiable`, or a parameter of reduced precision, `_recorded` does the same with
operations.
"""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from gradsh.api.copying import deepcopy
from gradsh.api.grads import clear_grads
from gradsh.api.nn.typename import typename
from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.attribute_names import ScriptBase, write
from gradsh.engine.dispatch.saved_hooks import announce_write
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.values.dtype import Array
from gradsh.engine.values.reduced import BFLOAT16, cast, is_reduced, rounded_to_bfloat16
from gradsh.ops.kernels.fused import fused
from gradsh.text.fault import fail

_DUPLICATES = (
    "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
    "github.com/pytorch/pytorch/issues/40967 for more information"
)
_SETS = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
    "between runs. Please use a list instead."
)

ParamGroup: TypeAlias = dict[str, Any]
"""Parameters and their settings, by PyTorch's names."""
ParamState: TypeAlias = dict[str, Any]
"""What an optimizer remembers of a parameter, by PyTorch's names."""
Hooks: TypeAlias = dict[int, Callable[..., Any]]


class Required:
    """The default of a setting that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()


class OptimizerState(defaultdict[Any, ParamState]):
    """An optimizer's state: a dictionary for each parameter."""

    __script_attributes__ = frozenset({"get", "items", "keys", "values", "pop", "clear", "setdefault", "update", "copy"})


OptimizerState.__name__ = OptimizerState.__qualname__ = "defaultdict"  # as PyTorch prints it
OptimizerState.__module__ = "collections"


class Optimizer(ScriptBase):
    """Base of the optimizers: `param_groups`, `state`, `defaults`, and a step over all parameters with a gradient."""

    def __init__(self, params: Any, defaults: dict[str, object]) -> None:
        self.defaults = defaults
        if defaults.get("fused") and defaults.get("differentiable"):
            raise fail("value", "`fused` does not support `differentiable`")
        if isinstance(params, Tensor):
            message = (
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
            raise fail("type", message, TypeError)
        self.state: OptimizerState = OptimizerState(dict)
        self.param_groups: list[ParamGroup] = []
        self._pre_hooks: Hooks = OrderedDict()
        self._post_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: Hooks = OrderedDict()
        groups = list(params)
        if not groups:
            raise fail("value", "optimizer got an empty parameter list", ValueError)
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: ParamGroup) -> None:
        """Add a group of parameters with settings of its own."""
        if not isinstance(param_group, dict):
            raise fail("type", f"param_group must be a dict, but got {type(param_group)}", TypeError)
        group = param_group
        group["params"] = _parameters(group)
        if group["params"] and isinstance(group["params"][0], tuple):
            group["param_names"] = [name for name, _ in group["params"]]
            group["params"] = [value for _, value in group["params"]]
        for parameter in group["params"]:
            if not isinstance(parameter, Tensor):
                message = "optimizer can only optimize Tensors, but one of the params is " + typename(parameter)
                raise fail("type", message, TypeError)
            followed = self.defaults.get("differentiable")
            if parameter.grad_fn is not None and not parameter.retains_grad and not followed:
                raise fail("not_leaf", "can't optimize a non-leaf Tensor", ValueError, tensor=parameter)
        for name, default in self.defaults.items():
            if default is required and name not in group:
                message = f"parameter group didn't specify a value of required optimization parameter {name}"
                raise fail("value", message, ValueError)
            group.setdefault(name, default)
        if len({id(one) for one in group["params"]}) != len(group["params"]):
            current().warning(_DUPLICATES)
        known = {id(one) for other in self.param_groups for one in other["params"]}
        if any(id(one) in known for one in group["params"]):
            raise fail("value", "some parameters appear in more than one parameter group", ValueError)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters (or fill them with zeros in place)."""
        for group in self.param_groups:
            clear_grads(group["params"], set_to_none)

    def step(self, closure: Callable[[], object] | None = None) -> object:
        """Update all parameters that have a gradient; `closure` computes the loss anew and is returned its value."""
        for hook in list(self._pre_hooks.values()):
            hook(self, (), {})
        self._step_count = getattr(self, "_step_count", 0) + 1
        loss = None
        if closure is not None:
            with grad_mode(True):
                loss = closure()
        with grad_mode(bool(self.defaults.get("differentiable"))):
            self._update_all()
        for hook in list(self._post_hooks.values()):
            hook(self, (), {})
        return loss

    def _update_all(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                meta = parameter.meta
                if meta is None or meta.grad is None:
                    continue
                by_operations = is_reduced(parameter.array) and type(self)._recorded is not Optimizer._recorded  # which round at each step
                if by_operations or group.get("differentiable"):
                    if group.get("foreach") and not by_operations:
                        raise fail("assert", "_foreach ops don't support autograd", AssertionError)
                    self._recorded(parameter, -meta.grad if group.get("maximize") else meta.grad, group)
                    continue
                announce_write(parameter)
                grad = meta.grad.array
                self._update(parameter, -grad if group.get("maximize") else grad, group)
                if parameter.array.dtype == BFLOAT16:  # numpy does not round to it
                    parameter.array[...] = rounded_to_bfloat16(parameter.array)

    def _state(self, parameter: Tensor, *zeros: str, **values: float) -> ParamState:
        """Return a parameter's state; at first no steps, `values` as numbers, and `zeros` as tensors like the parameter."""
        state = self.state[parameter]
        if not state:
            state.update((name, counter(value)) for name, value in {"step": 0.0, **values}.items())
            state.update((name, zeros_like(parameter)) for name in zeros)
        return state

    def _recorded(self, parameter: object, grad: object, group: ParamGroup) -> None:
        raise fail("value", f"{type(self).__name__} cannot be differentiable", NotImplementedError)

    def _update(self, parameter: Tensor, grad: Array, group: ParamGroup) -> None:
        raise fail("type", f"{type(self).__name__} is missing the required `step` function", NotImplementedError)

    def register_step_pre_hook(self, hook: Callable[..., object]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return Handle(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., object]) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return Handle(self._post_hooks, hook)

    # --- saving and loading -----------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, object]:
        """Return {"state": {parameter number: state}, "param_groups": [...]}: parameters are numbered over all groups."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed = {name: value for name, value in group.items() if name != "params"}
            groups.append({**packed, "params": [numbers[id(one)] for one in group["params"]]})
        state = {numbers[id(one)] if isinstance(one, Tensor) else one: held for one, held in self.state.items()}
        return _passed(self, self._optimizer_state_dict_post_hooks, {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over groups' settings and parameters' state (its tensors are shared); groups must have the same sizes."""
        state_dict = _passed(self, self._optimizer_load_state_dict_pre_hooks, state_dict.copy())
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise fail("value", "loaded state dict has a different number of parameter groups", ValueError)
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(saved, self.param_groups, strict=True)):
            message = "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            raise fail("value", message, ValueError)
        numbers = chain.from_iterable(group["params"] for group in saved)
        own = chain.from_iterable(group["params"] for group in self.param_groups)
        by_number = dict(zip(numbers, own, strict=True))
        state = OptimizerState(dict)
        for key, held in state_dict["state"].items():
            parameter = by_number.get(key)
            state[key if parameter is None else parameter] = _converted(held, parameter)
        self.__setstate__({"state": state, "param_groups": list(map(_loaded, self.param_groups, saved))})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __setstate__(self, state: dict[str, object]) -> None:
        """Take over attributes; what `load_state_dict` ends with, so that a subclass can fill in settings that a state lacks."""
        for name, value in state.items():
            write(self, name, value)

    def register_state_dict_pre_hook(self, hook: Callable[..., object], prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` before each `state_dict()`."""
        return _registered(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., object], prepend: bool = False) -> Handle:
        """Call `hook(optimizer, state_dict)` after each `state_dict()`; what it returns is the result."""
        return _registered(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., object], prepend: bool = False) -> Handle:
        """Call `hook(optimizer, state_dict)` before each `load_state_dict`; what it returns is loaded."""
        return _registered(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., object], prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` after each `load_state_dict`."""
        return _registered(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for place, group in enumerate(self.param_groups):
            text += f"\nParameter Group {place}\n"
            for name in sorted(group):
                if name != "params":
                    text += f"    {name}: {group[name]}\n"
        return text + ")"


def _registered(hooks: Any, hook: Callable[..., object], prepend: bool) -> Handle:
    handle = Handle(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _passed(optimizer: Optimizer, hooks: Hooks, state_dict: dict[str, Any]) -> dict[str, Any]:
    """Return what the hooks make of a state: each may return another."""
    for hook in list(hooks.values()):
        found = hook(optimizer, state_dict)
        state_dict = state_dict if found is None else found
    return state_dict


def _parameters(group: ParamGroup) -> list[object]:
    given = group["params"]
    if isinstance(given, Tensor):
        return [given]
    if isinstance(given, (set, frozenset)):
        raise fail("type", _SETS, TypeError)
    return list(given) if isinstance(given, Iterable) else [given]


def _loaded(group: ParamGroup, given: ParamGroup) -> ParamGroup:
    """Return a group with a saved group's settings and its own parameters."""
    own = {name: value for name, value in group.items() if name == "param_names"}
    return {**own, **deepcopy({name: value for name, value in given.items() if name != "params"}), "params": group["params"]}


def _converted(held: object, parameter: Tensor | None) -> Any:
    """Return state for a parameter: tensors (but the step) take its dtype; those that have it are shared, as in PyTorch."""
    if not isinstance(held, dict):
        return held
    found: dict[str, Any] = {}
    for name, value in held.items():
        converts = isinstance(value, Tensor) and name != "step" and parameter is not None and parameter.is_floating_point()
        if converts and parameter is not None and value.array.dtype != parameter.array.dtype:
            found[name] = make(cast(value.array, parameter.array.dtype))
        else:
            found[name] = value
    return found


def number(value: Any) -> float:
    """Return a setting that may be a 1-element tensor as a Python number."""
    return value.item() if isinstance(value, Tensor) else value


def rate(value: object) -> Any:
    """Return a learning rate as recorded operations take it: a tensor of one element without dims."""
    return value.squeeze() if isinstance(value, Tensor) and value.dim() else value


def with_decay(parameter: Tensor, grad: Tensor, group: ParamGroup) -> Tensor:
    """Return the gradient with the weight decay added, by recorded operations."""
    decay = group["weight_decay"]
    if isinstance(decay, Tensor) and decay.requires_grad:
        return grad.addcmul_(parameter.clone(), decay)
    return grad.add(parameter, alpha=decay) if decay != 0 else grad


def zeros_like(tensor: Tensor) -> Tensor:
    """Return zeros of the shape and dtype."""
    return make(np.zeros_like(tensor.array))


def counter(value: float = 0) -> Tensor:
    """Return a number of an optimizer's state: a float32 tensor, as PyTorch has it."""
    return make(np.asarray(value, np.float32))


def decayed(parameter: Tensor, grad: Array, group: ParamGroup) -> Array:
    """Return the gradient with the weight decay added."""
    decay = group["weight_decay"]
    return fused(parameter.array, decay, grad) if decay != 0 else grad


def check_signs(**settings: Any) -> None:
    """Refuse settings below 0, which are named as PyTorch's messages name them (`lr` is the learning rate)."""
    for name, value in settings.items():
        check(_WORDS.get(name, f"{name} value"), value, value >= 0)


_WORDS = {"lr": "learning rate", "eps": "epsilon value"}


def check(name: str, value: object, good: bool, word: str = "") -> None:
    """Refuse a setting out of range with PyTorch's `Invalid NAME: VALUE`."""
    if not good:
        raise fail("value", f"Invalid {name}{word}: {value}", ValueError)
