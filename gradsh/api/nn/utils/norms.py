"""weight_norm and spectral_norm: a weight computed before each forward from other parameters (by a forward pre-hook)."""

from typing import Any

import numpy as np

from gradsh.api.nn.module import Module
from gradsh.api.nn.walk import HOOKS
from gradsh.engine.ambient import current, grad_mode
from gradsh.engine.attribute_names import read
from gradsh.engine.graph.tensor import Parameter, Tensor, make, written
from gradsh.engine.registry import find
from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


def norm_except_dim(weight: Any, dim: int | None) -> Tensor:
    """Return the norm over all dimensions but one (over all with None)."""
    if dim is None or dim == -1:
        return find("_norm_whole")(weight, 2)
    if dim == 0:
        flat = weight.contiguous().view(weight.shape[0], -1)
        return find("norm")(flat, 2, [1]).view(weight.shape[0], *[1] * (weight.ndim - 1))
    if dim == weight.ndim - 1:
        flat = weight.contiguous().view(-1, weight.shape[-1])
        return find("norm")(flat, 2, [0]).view(*[1] * (weight.ndim - 1), weight.shape[-1])
    return norm_except_dim(weight.transpose(0, dim), 0).transpose(0, dim)


def _checked(module: object) -> Any:
    if not isinstance(module, Module):
        raise fail("type", f"{type(module).__name__} is not a Module", TypeError)
    return module


def _restore(module: Module, name: str) -> None:
    """Let a plain attribute stand where a parameter was."""
    del module._parameters[name]


class WeightNorm:
    """The hook that computes g · v / ‖v‖."""

    __module__ = "torch.nn.utils.weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute(self, module: object) -> Tensor:
        """Return the weight."""
        v, g = getattr(module, self.name + "_v"), getattr(module, self.name + "_g")
        if self.dim in {0, v.ndim - 1}:
            return find("_weight_norm_interface")(v, g, self.dim)
        return v * (g / norm_except_dim(v, self.dim))

    def __call__(self, module: Module, _inputs: object) -> None:
        """Set the module's weight."""
        module.__dict__[self.name] = self.compute(module)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its length `NAME_g` and direction `NAME_v`."""
    hook = WeightNorm(name, dim)
    weight = read(_checked(module), name)
    _restore(module, name)
    module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, hook.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.data))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: object, name: str = "weight") -> Module:
    """Make one parameter of the two again."""
    return _remove(module, name, WeightNorm, f"weight_norm of '{name}' not found in {module}", ("_g", "_v"))


def _remove(module: Any, name: str, sort: type, message: str, endings: tuple[str, ...]) -> Module:
    hooks = _checked(module).__dict__[HOOKS]
    table = {} if hooks is None else hooks.tables["forward_pre"]
    for number, hook in list(table.items()):
        if isinstance(hook, sort) and hook.name == name:  # type: ignore[attr-defined]
            with grad_mode(False):
                weight = hook.compute(module)  # type: ignore[attr-defined]
            del module.__dict__[name]
            for ending in endings:
                module._parameters.pop(name + ending, None)
                module._buffers.pop(name + ending, None)
            module.register_parameter(name, Parameter(weight.detach()))
            del table[number]
            return module
    raise fail("value", message, ValueError)


class SpectralNorm:
    """The hook that divides a weight by its largest singular value, found by power iteration."""

    __module__ = "torch.nn.utils.spectral_norm"

    def __init__(self, name: str, iterations: int, dim: int, eps: float) -> None:
        self.name = name
        self.iterations = iterations
        self.dim = dim
        self.eps = eps

    def matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix with dimension `dim` first."""
        if self.dim != 0:
            order = [self.dim, *[d for d in range(weight.ndim) if d != self.dim]]
            weight = weight.permute(*order)
        return weight.reshape(weight.shape[0], -1)

    def compute(self, module: object, iterate: bool = False) -> Tensor:
        """Return the weight divided by its largest singular value."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.matrix(weight)
        if iterate:
            with grad_mode(False):
                for _ in range(self.iterations):
                    _set(v, self._unit(matrix.array.T @ u.array))
                    _set(u, self._unit(matrix.array @ v.array))
            if self.iterations > 0:
                u, v = u.clone(), v.clone()
        sigma = find("dot")(u, find("mv")(matrix, v))
        return weight / sigma

    def _unit(self, vector: Array) -> Array:
        return vector / max(float(np.sqrt((vector * vector).sum())), self.eps)

    def __call__(self, module: Module, _inputs: object) -> None:
        """Set the module's weight."""
        module.__dict__[self.name] = self.compute(module, iterate=module.training)


def _set(tensor: Tensor, values: object) -> None:
    tensor.array[...] = values
    written(tensor)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value before each forward."""
    if n_power_iterations <= 0:
        message = (
            f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
        )
        raise fail("value", message, ValueError)
    if dim is None:
        dim = int(type(module).__name__.startswith("ConvTranspose"))
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = _checked(module)._parameters[name]
    matrix = hook.matrix(weight.detach())
    rows, columns = matrix.array.shape
    generator = current().generator
    u, v = (hook._unit(generator.normal((n,), dtype=weight.array.dtype)) for n in (rows, columns))
    _restore(module, name)
    module.register_parameter(name + "_orig", weight)
    module.__dict__[name] = weight.detach()
    module.register_buffer(name + "_u", make(np.asarray(u, weight.array.dtype)))
    module.register_buffer(name + "_v", make(np.asarray(v, weight.array.dtype)))
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: object, name: str = "weight") -> Module:
    """Make the weight a parameter again, divided by its largest singular value."""
    return _remove(module, name, SpectralNorm, f"spectral_norm of '{name}' not found in {module}", ("_u", "_v", "_orig"))
