"""state_dict and load_state_dict: a module's parameters and persistent buffers by dotted name."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from gradsh.engine.ambient import grad_mode
from gradsh.engine.attribute_names import ScriptBase, write
from gradsh.engine.graph.hook_handle import Handle
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.engine.registry import find
from gradsh.text.fault import fail


class IncompatibleKeys(tuple[list[str], list[str]]):
    """What load_state_dict(strict=False) found missing and unexpected."""

    __slots__ = ()
    __script_attributes__ = frozenset({"missing_keys", "unexpected_keys"})

    def __new__(cls, missing: list[str], unexpected: list[str]) -> "IncompatibleKeys":
        """Pair the two lists."""
        return tuple.__new__(cls, (missing, unexpected))

    @property
    def missing_keys(self) -> list[str]:
        """Keys that the module has and the dictionary lacks."""
        return self[0]

    @property
    def unexpected_keys(self) -> list[str]:
        """Keys of the dictionary that the module does not know."""
        return self[1]

    def __repr__(self) -> str:
        if not self[0] and not self[1]:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self[0]!r}, unexpected_keys={self[1]!r})"


class _Report:
    """What loading has found so far."""

    __slots__ = ("errors", "missing", "unexpected")

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []


class ModuleState(ScriptBase):
    """The part of `Module` that saves and loads its state."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return an ordered dictionary of the parameters and persistent buffers (detached, sharing their memory)."""
        if args:
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 else keep_vars
        found: Any = OrderedDict() if destination is None else destination
        for name, value in self._own_state().items():
            found[prefix + name] = value if keep_vars else value.detach()
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self.__dict__.get("_state_dict_hooks", {}).values():
            hook(self, found, prefix, {})
        return found

    def _own_state(self) -> dict[str, Tensor]:
        own = {name: value for name, value in self._parameters.items() if value is not None}
        skip = self._non_persistent_buffers_set
        return own | {name: value for name, value in self._buffers.items() if value is not None and name not in skip}

    def _complete(self, state: dict[str, object], prefix: str) -> None:
        """Add what older dictionaries lack."""

    def register_state_dict_post_hook(self, hook: Any) -> Handle:
        """Call `hook(module, state_dict, prefix, local_metadata)` at the end of state_dict()."""
        return Handle(self.__dict__.setdefault("_state_dict_hooks", {}), hook)

    def load_state_dict(self, state_dict: object, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copy a dictionary's tensors into the parameters and buffers of the same names (in place).

        `strict`: keys must match exactly. `assign`: take the tensors themselves instead of copying.
        Raises RuntimeError with one line for each key that does not fit.
        """
        if not isinstance(state_dict, Mapping):
            raise fail("type", f"Expected state_dict to be dict-like, got {type(state_dict)}.", TypeError)
        report = _Report()
        _load(self, dict(state_dict), "", assign, strict, report)
        if strict:
            lists = (("Missing", report.missing), ("Unexpected", report.unexpected))
            head = [f"{word} key(s) in state_dict: " + ", ".join(f'"{key}"' for key in keys) + ". "
                    for word, keys in lists if keys]
            report.errors[:0] = head
        if report.errors:
            lines = "\n\t".join(report.errors)
            raise fail("key", f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return IncompatibleKeys(report.missing, report.unexpected)


def _load(module: Any, state: dict[str, object], prefix: str, assign: bool, strict: bool, report: _Report) -> None:
    own = module._own_state()
    module._complete(state, prefix)
    for name, value in own.items():
        key = prefix + name
        if key in state:
            error = _load_one(module, name, key, value, state[key], assign)
            if error:
                report.errors.append(error)
        else:
            report.missing.append(key)
    for key in state:
        if key.startswith(prefix):
            first, dot, _ = key[len(prefix):].partition(".")
            if first not in (module._modules if dot else own):
                report.unexpected.append(key)
    for name, child in module._modules.items():
        if child is not None:
            path = f"{prefix}{name}."
            below = {key: value for key, value in state.items() if key.startswith(path)}
            _load(child, below, path, assign, strict, report)


def _load_one(module: object, name: str, key: str, own: Tensor, given: object, assign: bool) -> str:
    if not isinstance(given, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
            f"received {type(given)}"
        )
    if not own.shape and given.shape == (1,):
        given = given[0]
    if given.shape != own.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, "
            f"the shape in current model is {own.shape}."
        )
    with grad_mode(False):
        if not assign:
            find("copy_")(own, given)
        elif isinstance(own, Parameter):
            fresh = given if isinstance(given, Parameter) else Parameter(given)
            write(module, name, fresh.requires_grad_(own.requires_grad))
        else:
            write(module, name, given)
    return ""
