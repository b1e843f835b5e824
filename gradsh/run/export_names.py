"""What a script's bare names are called in Python: `ones` is `torch.ones`, `Linear` is `nn.Linear`."""

from collections.abc import Collection, Iterator, Sequence

from gradsh.api.torch import BARE, NAMESPACES
from gradsh.compiler.scopes import bound_names, children
from gradsh.language import tree
from gradsh.language.node import SyntaxNode, stmt
from gradsh.runtime.script_globals import STANDING
from gradsh.session.session import Session

ALIASES = {"torch.nn.functional": "F", "torch": "torch", "torch.nn": "nn", "torch.optim": "optim"}
"""The usual name of each module that a bare name may come from."""
LENS = frozenset({"freed", "live_bytes", "reclaimable_bytes", "saved"})
"""Assertions of gradsh's scripts that `gradsh.lens` answers on PyTorch."""
_STATEMENTS = {"torch": "import torch", "nn": "from torch import nn", "F": "import torch.nn.functional as F",
               "optim": "from torch import optim", "np": "import numpy as np"}  # fmt: skip
_SCOPES = (tree.FunctionDef, tree.Lambda, tree.ListComp, tree.SetComp, tree.DictComp, tree.GeneratorExp)


class PythonNames:
    """The bare names of a program. `standing` are the modules it uses without importing them."""

    def __init__(self, body: Sequence[stmt], builtins: Collection[str] = ()) -> None:
        self.body = body
        self.everywhere = {name for name, _ in bound_names(list(body))}
        """Names that the top level binds."""
        self.standing: set[str] = set()
        self.lens: set[str] = set()
        """Those of LENS that the program calls."""
        self._builtins = builtins or frozenset(Session().machine.builtins)

    def found(self) -> Iterator[tuple[tree.Name, str]]:
        """Yield each bare name that needs another spelling, and that spelling."""
        for node in self._free(self.body):
            spelled = self._spelled(node.id)
            if spelled != node.id:
                yield node, spelled

    def reads_last_values(self) -> bool:
        """Whether the program reads `_` or `__` where it has not bound it."""
        return any(node.id in {"_", "__"} for node in self._free(self.body))

    def missing(self) -> Iterator[tuple[tree.Name, str]]:
        """Yield where each name stands first that Python would not find, and what to write for it."""
        seen = set(self.everywhere)
        for node in self._free(self.body):
            spelled = self._spelled(node.id)
            if node.id not in seen and (node.id in STANDING or spelled != node.id):
                yield node, spelled if spelled != node.id else _import_of(node.id)
            seen.add(node.id)

    def imports(self, head: Sequence[stmt]) -> list[str]:
        """Return the imports that the program lacks after those of its own head."""
        bound = {name for name, _ in bound_names(list(head))}
        missing = [name for name in STANDING if name in self.standing and name not in bound]
        lines = [_import_of(name) for name in missing]
        if self.lens:
            lines.append(f"from gradsh.lens import {', '.join(sorted(self.lens))}")
        return lines

    def stands_for(self, name: str) -> str:
        """Return the path of the module that offers a bare name, empty for none."""
        return next((path for path in BARE if name in NAMESPACES[path]), "")

    def _spelled(self, name: str) -> str:
        if name in LENS:
            self.lens.add(name)
            return name
        if name in STANDING:
            self.standing.add(name)
            return name
        path = "" if name in self._builtins or name[0] == "_" else self.stands_for(name)
        if not path:
            return name
        alias = ALIASES[path]
        if alias in self.everywhere and not self._imported(alias):
            self.standing.add("torch")
            return f"{path}.{name}"
        self.standing.add(alias)
        return f"{alias}.{name}"

    def _imported(self, alias: str) -> bool:
        """Whether the program binds an alias by imports alone."""
        others = [one for one in self.body if not isinstance(one, tree.Import | tree.ImportFrom)]
        return alias not in {name for name, _ in bound_names(others)}

    def _free(self, body: Sequence[stmt]) -> Iterator[tree.Name]:
        """Yield the names that stand where the program has bound none of that name."""
        taken: set[str] = set()
        for statement in body:
            own = {name for name, _ in bound_names([statement])}
            value = getattr(statement, "value", None) if isinstance(statement, tree.Assign | tree.AnnAssign) else None
            if value is not None:  # it is evaluated before the names are bound
                yield from self._below(value, taken)
            yield from (name for name in self._below(statement, taken | own) if value is None or not _within(name, value))
            taken |= own

    def _below(self, node: SyntaxNode, bound: set[str]) -> Iterator[tree.Name]:
        if isinstance(node, tree.Name):
            if node.id not in bound:
                yield node
            return
        inner = bound
        if isinstance(node, _SCOPES):
            inner = bound | self.everywhere | _local(node)
        elif isinstance(node, tree.ClassDef):
            inner = bound | {name for name, _ in bound_names(node.body)}
        for child in children(node):
            yield from self._below(child, inner)


def _import_of(name: str) -> str:
    return _STATEMENTS.get(name, f"import {name}")


def _within(inner: SyntaxNode, outer: SyntaxNode) -> bool:
    return outer.span[:2] <= inner.span[:2] and inner.span[2:] <= outer.span[2:]


def _local(node: object) -> set[str]:
    """Return the names that a function, a lambda or a comprehension binds for itself."""
    found = {name for name, _ in bound_names(node.body)} if isinstance(node, tree.FunctionDef) else set()
    arguments = getattr(node, "args", None)
    if arguments is not None:
        found |= {one.arg for one in children(arguments) if isinstance(one, tree.arg)}
    for clause in getattr(node, "generators", ()):
        found |= {name for name, _ in bound_names([tree.For(clause.span, clause.target, clause.iter, [], [])])}
    return found
