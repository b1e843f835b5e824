"""torch.nn.utils.parametrize: a module's tensor computed from others each time it is read.

The module gets a class of its own with a property for the tensor; what it is computed from, and by which modules, stands in
`module.parametrizations`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gradsh.api.nn.container import ModuleDict, ModuleList
from gradsh.api.nn.module import Module
from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.attribute_names import check_ordinary
from gradsh.engine.graph.tensor import Parameter, Tensor, written
from gradsh.text.fault import fail

_PARTS = "original"
_CACHE = "parametrizations_cached"
"""The ambient flag: one table for each `cached()` that is open, what was computed for (module, name)."""
_MARK = ".parametrized"
"""What the class of a parametrized module carries; no script can name it."""


@contextmanager
def cached() -> Iterator[None]:
    """Compute a parametrized tensor once within the block, when it is first read."""
    open_tables = current().flags.setdefault(_CACHE, [])
    open_tables.append(open_tables[-1] if open_tables else {})
    try:
        yield
    finally:
        open_tables.pop()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order in which they are applied, and the originals they start from."""

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise fail("value", "ParametrizationList requires one or more modules.", ValueError)
        super().__init__(modules)
        self.unsafe = unsafe
        start = _inverted(list(self), original)
        if not isinstance(start, Tensor) and not isinstance(start, (list, tuple)):
            message = f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(start).__name__}"
            raise fail("value", message, ValueError)
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if isinstance(start, Tensor) else len(start)
        if isinstance(start, Tensor):
            _check_dtype(original, start, "right_inverse")
            _set(original, start)
            self._hold(_PARTS, original)
        else:
            for place, one in enumerate(start):
                if not isinstance(one, Tensor):
                    message = (
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{place} of the sequence with type {type(one).__name__}."
                    )
                    raise fail("value", message, ValueError)
                part = Parameter(one.detach(), original.requires_grad) if isinstance(original, Parameter) else one
                self._hold(f"{_PARTS}{place}", part)
        if not unsafe:
            self._check_result(original)

    def _hold(self, name: str, part: Tensor) -> None:
        if isinstance(part, Parameter):
            self.register_parameter(name, part)
        else:
            self.register_buffer(name, part)

    def _check_result(self, original: Tensor) -> None:
        found = self()
        if not isinstance(found, Tensor):
            raise fail("value", f"A parametrization must return a tensor. Got {type(found).__name__}.", ValueError)
        if found.dtype != original.dtype:
            message = (
                "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is enabled.\n"
                f"unparametrized dtype: {original.dtype}\nparametrized dtype: {found.dtype}"
            )
            raise fail("value", message, ValueError)
        if found.shape != original.shape:
            message = (
                "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is enabled.\n"
                f"unparametrized shape: {original.shape}\nparametrized shape: {found.shape}"
            )
            raise fail("value", message, ValueError)

    def originals(self) -> list[Any]:
        """Return the tensors that the first parametrization starts from."""
        if self.is_tensor:
            return [getattr(self, _PARTS)]
        return [getattr(self, f"{_PARTS}{place}") for place in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes `value`, as far as the modules can tell how."""
        with grad_mode(False):
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise fail("other", f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            found = [value] if self.is_tensor else list(value)
            for part, one in zip(self.originals(), found, strict=True):
                _set(part, one)

    def forward(self) -> Tensor:
        """Return the parametrized tensor."""
        first, *others = list(self)
        found = first(*self.originals())
        for module in others:
            found = module(found)
        return found


def _set(tensor: Tensor, value: Tensor) -> None:
    """Give a tensor another one's memory, which counts as a write."""
    if value is not tensor:
        tensor.data = value.detach()
    written(tensor)


def _inverted(modules: list[Any], original: Tensor) -> Tensor | tuple[Tensor, ...]:
    """Return what the originals must be for the parametrized tensor to be as it is; itself where a module does not tell."""
    start: Any = original
    with grad_mode(False):
        for module in reversed(modules):
            if hasattr(module, "right_inverse"):
                try:
                    start = module.right_inverse(start)
                except NotImplementedError:
                    continue
    return start


def _check_dtype(original: Tensor, found: Tensor, what: str) -> None:
    if original.dtype != found.dtype:
        message = (
            f"When `{what}` outputs one tensor, it may not change the dtype.\noriginal.dtype: {original.dtype}\n"
            f"{what}(original).dtype: {found.dtype}"
        )
        raise fail("value", message, ValueError)


def _computed(name: str) -> property:
    """Return the property that stands for a parametrized tensor."""

    def read(self: Module) -> Tensor:
        open_tables = current().flags.get(_CACHE)
        if not open_tables:
            return self.parametrizations[name]()
        table = open_tables[-1]
        key = id(self), name
        if key not in table:
            table[key] = self.parametrizations[name]()
        return table[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, write)


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Let a parameter or buffer be computed by `parametrization` from what stands in its place; return the module."""
    if not isinstance(module, Module):
        raise fail("type", f"{type(module).__name__} is not a Module", TypeError)
    check_ordinary(module, tensor_name)
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        known = module.parametrizations[tensor_name]
        before = known()
        known.append(parametrization)
        known.unsafe |= unsafe
        if not known.unsafe:
            known._check_result(before)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        message = (
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
        raise fail("value", message, ValueError)
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        kind = type(module)
        own = {"__module__": kind.__module__, _MARK: True}
        object.__setattr__(module, "__class__", type(f"Parametrized{kind.__name__}", (kind,), own))
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _computed(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrized tensors, or whether this one is."""
    if _MARK not in vars(type(module)):
        return False
    held = module._modules.get("parametrizations")
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor a plain parameter or buffer again: as it was computed last, or the original."""
    if not is_parametrized(module, tensor_name):
        raise fail("value", f"Module {module} does not have a parametrization on {tensor_name}", ValueError)
    known = module.parametrizations[tensor_name]
    original = known.originals()[0]
    if leave_parametrized:
        with grad_mode(False):
            value = getattr(module, tensor_name).detach()
        if known.is_tensor:
            _set(original, value)
        else:
            original = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    elif not known.is_tensor:
        message = (
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of tensors."
        )
        raise fail("value", message, ValueError)
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        object.__setattr__(module, "__class__", type(module).__bases__[0])
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before its tensors were parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)
