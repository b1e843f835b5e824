"""torch.nn.utils.prune: a parameter times a mask of zeros and ones, before each forward (by a forward pre-hook)."""

from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from typing import Any

from gradsh.api.homes import settle
from gradsh.api.nn.module import Module
from gradsh.api.nn.utils.clip import parameters_to_vector
from gradsh.api.nn.walk import HOOKS
from gradsh.engine.attribute_names import ScriptBase, read, write
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail


def _count(amount: Any, size: int) -> int:
    """Return how many of `size` to prune: that many, or a part of them. Raises ValueError for more than there are."""
    count = int(amount if isinstance(amount, Integral) else round(amount * size))
    if count > size:
        raise fail("value", f"amount={count} should be smaller than the number of parameters to prune={size}", ValueError)
    return count


def _same_shape(scores: Any, tensor: Any, what: str) -> Any:
    if scores.shape != tensor.shape:
        message = f"importance_scores should have the same shape as {what}, got {scores.shape} vs {tensor.shape}"
        raise fail("shape", message, AssertionError)
    return scores


def _hooks(module: Module) -> dict[int, object]:
    hooks = module.__dict__[HOOKS]
    return {} if hooks is None else hooks.tables["forward_pre"]


def _others(tensor: Any, dim: int) -> list[int]:
    """Return all dimensions but one."""
    return [one for one in range(tensor.ndim) if one != (dim + tensor.ndim if dim < 0 else dim)]


class BasePruningMethod(ScriptBase):
    """A way to prune: `compute_mask(t, default_mask)` says what is kept; `PRUNING_TYPE` what of a pruned tensor it looks at."""

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, _inputs: object) -> None:
        """Set the module's tensor to the masked parameter."""
        write(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask for a tensor that was pruned by `default_mask` before."""
        raise NotImplementedError

    def apply_mask(self, module: Module) -> Any:
        """Return the masked parameter."""
        mask, orig = (read(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig"))
        return mask.to(dtype=orig.dtype) * orig

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> "BasePruningMethod":
        """Prune a parameter, on top of what pruned it before."""
        table = _hooks(module)
        before = [(key, hook) for key, hook in table.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        for key, hook in before:
            del table[key]
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            method = container
        orig: Any = read(module, name)
        scores = orig if importance_scores is None else _same_shape(importance_scores, orig, f"parameter {name} of {module}")
        mask = read(module, f"{name}_mask").detach().clone() if before else find("ones_like")(orig)
        mask = method.compute_mask(scores, mask)
        if not before:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", orig)
        module.register_buffer(f"{name}_mask", mask)
        method(module, ())
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """Return a pruned copy of a tensor."""
        scores = t if importance_scores is None else _same_shape(importance_scores, t, "tensor t")
        return t * self.compute_mask(scores, find("ones_like")(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the masked values the parameter's own."""
        name = self._tensor_name
        weight: Any = self.apply_mask(module)
        orig: Any = module._parameters.pop(f"{name}_orig")
        orig.data = weight.data
        del module._buffers[f"{name}_mask"], module.__dict__[name]
        module.register_parameter(name, orig)


class PruningContainer(BasePruningMethod):
    """Several ways to prune one tensor, one after the other."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._methods: list[BasePruningMethod] = []
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a way to prune the same tensor."""
        if not isinstance(method, BasePruningMethod):
            raise fail("type", f"{type(method)} is not a BasePruningMethod subclass", TypeError)
        if method._tensor_name != self._tensor_name:
            message = (
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
            raise fail("value", message, ValueError)
        self._methods.append(method)

    def __len__(self) -> int:
        return len(self._methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._methods)

    def __getitem__(self, place: int) -> BasePruningMethod:
        return self._methods[place]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Let the last way prune what those before it left."""
        method: Any = self._methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            left: Any = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            dims = _others(t, method.dim)
            left = tuple(slice(None) if one in dims else default_mask.sum(dim=dims) != 0 for one in range(t.ndim))
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.ndim
        else:
            raise fail("value", f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}", ValueError)
        mask = default_mask.to(dtype=t.dtype)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return the mask as it was."""
        return default_mask


class _Amount(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Any) -> None:
        if not isinstance(amount, Real):
            raise fail("type", f"Invalid type for amount: {amount}. Must be int or float.", TypeError)
        if float(amount) < 0 or (not isinstance(amount, Integral) and float(amount) > 1):
            message = f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
            raise fail("value", message, ValueError)
        self.amount = amount

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Prune single elements."""
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._places(t, count)] = 0
        return mask

    def _places(self, t: Any, count: int) -> Any:
        """Return which elements go, row by row."""
        raise NotImplementedError


class RandomUnstructured(_Amount):
    """Prunes elements at random."""

    def _places(self, t: Any, count: int) -> Any:
        return find("topk")(find("rand_like")(t).view(-1), k=count)[1]


class L1Unstructured(_Amount):
    """Prunes the elements of the smallest absolute values."""

    def _places(self, t: Any, count: int) -> Any:
        return find("topk")(t.abs().view(-1), k=count, largest=False)[1]


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Prune whole channels."""
        if t.ndim <= 1:
            message = (
                f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.ndim} dims"
            )
            raise fail("shape", message, ValueError)
        if self.dim >= t.ndim:
            raise fail("index", f"Invalid index {self.dim} for tensor of size {t.shape}", IndexError)
        count = _count(self.amount, t.shape[self.dim])
        if not count:
            return default_mask
        mask = find("zeros_like")(t)
        mask.transpose(0, self.dim)[self._kept(t, count)] = 1
        return mask * default_mask.to(dtype=mask.dtype)

    def _kept(self, t: Any, count: int) -> Any:
        """Return which channels stay."""
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes channels at random."""

    def _kept(self, t: Any, count: int) -> Any:
        drawn = find("rand")((t.shape[self.dim],))
        return drawn > find("kthvalue")(drawn, k=count)[0]


class LnStructured(_Structured):
    """Prunes the channels of the smallest norms."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Any, count: int) -> Any:
        return find("topk")(find("norm")(t, self.n, _others(t, self.dim)), k=t.shape[self.dim] - count)[1]


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """Return what both masks keep."""
        if default_mask.shape != self.mask.shape:
            message = f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            raise fail("shape", message, AssertionError)
        return default_mask * self.mask.to(dtype=default_mask.dtype)


for _kind in (PruningContainer, Identity, RandomUnstructured, L1Unstructured, RandomStructured, LnStructured, CustomFromMask):
    settle(_kind)


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune elements of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of a parameter that have the smallest absolute values (or scores)."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune channels of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None) -> Module:
    """Prune the channels of a parameter that have the smallest norms."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Callable[..., Any], importance_scores: dict[Any, Any] | None = None, **kwargs: Any
) -> None:
    """Prune the elements of several parameters as if they were one."""
    if not isinstance(parameters, Iterable):
        raise fail("type", "global_unstructured(): parameters is not an Iterable", TypeError)
    found = [(module, name, read(module, name)) for module, name in parameters]
    scores = {} if importance_scores is None else importance_scores
    given = parameters_to_vector([scores.get((module, name), parameter) for module, name, parameter in found])
    masks = parameters_to_vector(
        [module._buffers.get(f"{name}_mask", find("ones_like")(parameter)) for module, name, parameter in found]
    )
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        message = (
            'Only "unstructured" PRUNING_TYPE supported for '
            f"the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
        raise fail("type", message, TypeError)
    mask = PruningContainer(method).compute_mask(given, masks)
    start = 0
    for module, name, parameter in found:
        custom_from_mask(module, name, mask[start:start + parameter.numel()].view_as(parameter))
        start += parameter.numel()


def remove(module: Module, name: str) -> Module:
    """Make the pruned values of a parameter its own."""
    table = _hooks(module)
    for key, hook in list(table.items()):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del table[key]
            return module
    message = f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    raise fail("value", message, ValueError)


def is_pruned(module: Module) -> bool:
    """Tell whether a module, or one within it, is pruned."""
    return any(isinstance(hook, BasePruningMethod) for one in module.modules() for hook in _hooks(one).values())
