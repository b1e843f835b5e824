"""Walking over a module's tree: its parameters, buffers, children and modules, with and without names."""

from collections.abc import Callable, Iterator
from typing import Any, Self

from gradsh.engine.attribute_names import ScriptBase, read
from gradsh.engine.graph.tensor import Parameter, Tensor
from gradsh.text.fault import fail

_MISSING = object()
HOOKS = ".hooks"
"""Under which a module holds its hooks: no program can name it."""


class Walk(ScriptBase):
    """The part of `Module` that lists what a tree of modules holds. Each thing is listed once, where it is met first."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, object]]:
        """Yield (dotted name, module) for this module (named `prefix`) and all below it."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                below = prefix + ("." if prefix else "") + name
                yield from child.named_modules(seen, below, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """Yield this module and all below it."""
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, object]]:
        """Yield (name, module) for the modules right below."""
        seen: set[object] = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Any]:
        """Yield the modules right below."""
        for _, child in self.named_children():
            yield child

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield (dotted name, parameter)."""
        yield from self._members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once, in the order of registration."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield (dotted name, buffer)."""
        yield from self._members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers: tensors that belong to the module's state and are no parameters."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _members(self, table: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        holders = self.named_modules(prefix=prefix, remove_duplicate=once) if recurse else [(prefix, self)]
        for path, module in holders:
            for name, value in getattr(module, table).items():
                if value is None or id(value) in seen:
                    continue
                if once:
                    seen.add(id(value))
                yield path + ("." if path else "") + name, value

    def get_submodule(self, target: str) -> Any:
        """Return the module at a dotted path; raises AttributeError."""
        found: Any = self
        for part in target.split(".") if target else ():
            found = _named(found, part)
            if not isinstance(found, Walk):
                raise fail("attribute", f"`{part}` is not an nn.Module", AttributeError, name=part)
        return found

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter at a dotted path; raises AttributeError."""
        found = self._member_at(target)
        if not isinstance(found, Parameter):
            raise fail("attribute", f"`{target.rpartition('.')[2]}` is not an nn.Parameter", AttributeError)
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer at a dotted path; raises AttributeError."""
        path, _, name = target.rpartition(".")
        found = self._member_at(target)
        if name not in self.get_submodule(path)._buffers:
            raise fail("attribute", f"`{name}` is not a buffer", AttributeError)
        return found

    def _member_at(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        return _named(self.get_submodule(path), name)

    def apply(self, fn: Callable[[Any], object]) -> Self:
        """Call `fn` on every module below, then on this one; return this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self


def _named(module: Any, name: str) -> object:
    found = read(module, name, _MISSING)
    if found is _MISSING:
        message = f"{module._get_name()} has no attribute `{name}`"
        raise fail("attribute", message, AttributeError, owner=module, name=name)
    return found
