"""nn.Module: what a module is. Registration by attribute, modes, conversion, calling with hooks, and its repr."""

from collections.abc import Callable
from itertools import chain
from types import FunctionType
from typing import Any, Self
from weakref import ref

import numpy as np

from gradsh.api.grads import clear_grads
from gradsh.api.nn.state import ModuleState
from gradsh.api.nn.typename import typename
from gradsh.api.nn.walk import HOOKS, Walk
from gradsh.engine.ambient import current
from gradsh.engine.attribute_names import check_ordinary, ordinary, read
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.tensor import Parameter, Tensor, make
from gradsh.engine.values.device import check_gpu
from gradsh.engine.values.reduced import BFLOAT16, FLOAT16, cast
from gradsh.text.fault import fail

_TABLES = ("_parameters", "_buffers", "_modules")


def indented(text: str) -> str:
    """Indent all lines of a child's repr but the first."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])


def differing(module: object, **defaults: object) -> str:
    """Return `, NAME=VALUE` for each setting that is not its default."""
    values = ((name, read(module, name), default) for name, default in defaults.items())
    return "".join(
        f", {name}={value}" for name, value, default in values
        if (value is not default if isinstance(default, bool) else value != default)
    )


class Module(Walk, ModuleState):
    """A part of a network: parameters, buffers and modules are registered by assigning them as attributes."""

    training: bool

    def __init__(self, *args: object, **kwargs: object) -> None:
        if kwargs:
            name = next(iter(kwargs))
            message = f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'"
            raise fail("type", message, TypeError)
        if args:
            count = len(args) + 1
            message = f"{type(self).__name__}.__init__() takes 1 positional argument but {count} were given"
            raise fail("type", message, TypeError)
        self._begin()

    def _begin(self) -> None:
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_modules"] = {}
        own["_non_persistent_buffers_set"] = set()
        own[HOOKS] = None

    def forward(self, *input: Any, **kwargs: Any) -> Any:
        """Compute the module's result; subclasses define it."""
        message = f'Module [{type(self).__name__}] is missing the required "forward" function'
        raise fail("type", message, NotImplementedError, module=self)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run forward, with the registered hooks around it; a session's nodes note in which module they are made."""
        trail = current().trail
        if trail is not None:
            outer = trail.activation
            trail.activation = (outer, 0, None, (ref(self), type(self)))
        try:
            if self.__dict__.get(HOOKS) is None:
                return self.forward(*args, **kwargs)
            from gradsh.api.nn.module_hooks import call

            return call(self, args, kwargs)
        finally:
            if trail is not None:
                trail.activation = outer

    def _within(self, function: Callable[..., object], *args: object) -> Any:
        """Call a function as a call of this module that has no forward of its own: its nodes note the module."""
        trail = current().trail
        if trail is None:
            return function(*args)
        outer = trail.activation
        trail.activation = (outer, 0, None, (ref(self), type(self)))
        try:
            return function(*args)
        finally:
            trail.activation = outer

    # --- registration ---------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in _TABLES if ordinary(name) else ():
            if table in own and name in own[table]:
                return own[table][name]
        message = f"'{type(self).__name__}' object has no attribute '{name}'"
        raise fail("attribute", message, AttributeError, owner=self, name=name)

    def __setattr__(self, name: str, value: object) -> None:
        own = self.__dict__
        parameters = own.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise _too_early("parameters", self)
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise _wrong(value, "parameter", name, "torch.nn.Parameter or None")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if parameters is None:
                raise _too_early("module", self)
            check_ordinary(self, name)
            self._forget(name, "_parameters", "_buffers")
            self._modules[name] = value
        elif parameters is not None and name in self._modules:
            if value is not None:
                raise _wrong(value, "child module", name, "torch.nn.Module or None")
            self._modules[name] = value
        elif parameters is not None and name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise _wrong(value, "buffer", name, "torch.nn.Buffer, torch.Tensor or None")
            self._buffers[name] = value
        elif parameters is not None and isinstance(value, Tensor) and getattr(value, "_is_buffer", False):
            self._forget(name, "_parameters", "_modules")
            self.register_buffer(name, value, value.persistent)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, *tables: str) -> None:
        own = self.__dict__
        own.pop(name, None)
        for table in tables:
            own[table].pop(name, None)
        own["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for table in _TABLES:
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        try:
            object.__delattr__(self, name)
        except AttributeError:
            message = f"'{type(self).__name__}' object has no attribute '{name}'"
            raise fail("attribute", message, AttributeError, owner=self, name=name) from None

    def _check_name(self, what: str, name: object, table: str) -> None:
        if table not in self.__dict__:
            raise _too_early(what, self)
        if not isinstance(name, str):
            raise fail("type", f"{what} name should be a string. Got {typename(name)}", TypeError)
        check_ordinary(self, name)
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise fail("key", f"attribute '{name}' already exists", KeyError)
        if "." in name:
            got = f", got: {name}" if what == "module" else ""
            raise fail("key", f'{what} name can\'t contain "."{got}', KeyError)
        if name == "":
            raise fail("key", f'{what} name can\'t be empty string ""', KeyError)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under `name`."""
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            message = f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            raise fail("type", message, TypeError)
        if param is not None and param.grad_fn is not None:
            message = (
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
            raise fail("not_leaf", message, ValueError, tensor=param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor of the module's state that is no parameter; `persistent`: part of state_dict."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            message = f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            raise fail("type", message, TypeError)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Add a child module under `name`."""
        if module is not None and not isinstance(module, Module):
            raise fail("type", f"{typename(module)} is not a Module subclass", TypeError)
        self._check_name("module", name, "_modules")
        self._modules[name] = module

    register_module = add_module

    # --- modes and conversion -------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all below it to training mode (or evaluation); return it."""
        if not isinstance(mode, bool):
            raise fail("value", "training mode is expected to be boolean", ValueError)
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Switch to evaluation mode: dropout passes everything, batch norm uses its running statistics."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set requires_grad of all parameters; return the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters (or fill them with zeros in place)."""
        clear_grads(self.parameters(), set_to_none)

    def _apply(self, fn: Callable[[Tensor], Tensor]) -> Self:
        for child in self.children():
            child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            parameter.data = fn(parameter)
            meta = parameter.meta
            if meta is not None and meta.grad is not None:
                meta.grad.data = fn(meta.grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: object, **kwargs: object) -> Self:
        """Convert all floating point parameters and buffers to a dtype (a device or a tensor's dtype may be given)."""
        from gradsh.api.nn.conversion import parse_to

        dtype = parse_to(args, kwargs, self._has_tensors())
        return self if dtype is None else self._floats_to(dtype)

    def _floats_to(self, dtype: Any) -> Self:
        def convert(tensor: Tensor) -> Tensor:
            if tensor.array.dtype.kind != "f" or tensor.array.dtype == dtype:
                return tensor
            return make(cast(tensor.array, dtype))

        return self._apply(convert)

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32."""
        return self._floats_to(np.dtype(np.float32))

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64."""
        return self._floats_to(np.dtype(np.float64))

    def half(self) -> Self:
        """Convert parameters and buffers of floating point to float16."""
        return self._floats_to(FLOAT16)

    def bfloat16(self) -> Self:
        """Convert parameters and buffers of floating point to bfloat16."""
        return self._floats_to(BFLOAT16)

    def cpu(self) -> Self:
        """Return the module: it is on the CPU."""
        return self

    def cuda(self, device: object = None) -> Self:
        """Return the module if the session ignores other devices, or has nothing to move; refuse otherwise."""
        if self._has_tensors():
            check_gpu(device)
        return self

    def _has_tensors(self) -> bool:
        return next(chain(self.parameters(), self.buffers()), None) is not None

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda tensor: make(cast(tensor.array, dst_type.numpy)))

    def share_memory(self) -> Self:
        """Return the module."""
        return self

    # --- hooks ----------------------------------------------------------------------------------------------------

    def _hook_tables(self) -> Any:
        from gradsh.api.nn.module_hooks import Hooks

        if self.__dict__[HOOKS] is None:
            self.__dict__[HOOKS] = Hooks()
        return self.__dict__[HOOKS]

    def register_forward_pre_hook(
        self, hook: Callable[..., object], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call `hook(module, args)` before forward; what it returns replaces the arguments."""
        return self._hook_tables().add("forward_pre", hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Callable[..., object], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> Handle:
        """Call `hook(module, args, output)` after forward; what it returns replaces the output."""
        handle: Handle = self._hook_tables().add("forward", hook, prepend, with_kwargs)
        if always_call:
            self._hook_tables().always.add(handle.id)
        return handle

    def register_full_backward_hook(self, hook: Callable[..., object], prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are computed."""
        return self._hook_tables().add_backward(hook, True, prepend)

    def register_backward_hook(self, hook: Callable[..., object]) -> Handle:
        """Call `hook(module, grad_input, grad_output)` when the node that made the output has run: PyTorch's older hook."""
        return self._hook_tables().add_backward(hook, False)

    def register_full_backward_pre_hook(self, hook: Callable[..., object], prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` before the module's backward; what it returns replaces the gradients."""
        return self._hook_tables().add("backward_pre", hook, prepend)

    @property
    def _forward_hooks(self) -> Any:
        return self._hook_tables().tables["forward"]

    @property
    def _forward_pre_hooks(self) -> Any:
        return self._hook_tables().tables["forward_pre"]

    @property
    def _backward_hooks(self) -> Any:
        return self._hook_tables().tables["backward"]

    # --- how it prints --------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what the repr shows besides the children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(child))}" for name, child in self._modules.items()]
        if not lines and not children:
            return f"{self._get_name()}()"
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"

    def __dir__(self) -> list[str]:
        own = self.__dict__
        names = [*dir(type(self)), *own, *(name for table in _TABLES for name in own.get(table, ()))]
        return sorted(name for name in names if not name[0].isdigit())


for part in (Walk, ModuleState):
    for method in vars(part).values():
        if isinstance(method, FunctionType):
            method.__qualname__ = f"Module.{method.__name__}"  # a bound method shows it


def _too_early(what: str, module: Module) -> Exception:
    return fail("attribute", f"cannot assign {what} before Module.__init__() call", AttributeError, owner=module)


def _wrong(value: object, what: str, name: str, expected: str) -> Exception:
    return fail("type", f"cannot assign '{typename(value)}' as {what} '{name}' ({expected} expected)", TypeError)
