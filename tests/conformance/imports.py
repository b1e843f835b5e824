"""Text that imports torch, made to import another library in its place."""

import ast
import importlib
from collections.abc import Callable
from typing import Any

FIND = "__find_in_library__"
Find = Callable[..., Any]


class Redirected(ast.NodeTransformer):
    """Turns imports of torch, wherever they stand, into calls of FIND, which the text's variables must hold."""

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        """`import torch.nn as nn` becomes `nn = find("torch.nn")`."""
        lines = []
        for one in node.names:
            if one.name.partition(".")[0] != "torch":
                lines.append(ast.unparse(ast.Import([one])))
            elif one.asname:
                lines.append(f"{one.asname} = {FIND}({one.name!r})")
            else:
                lines.append(f"torch = ({FIND}('torch'), {FIND}({one.name!r}))[0]")
        return ast.parse("\n".join(lines)).body

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """`from torch import nn` becomes `nn = find("torch", "nn")`."""
        if (node.module or "").partition(".")[0] != "torch":
            return node
        return ast.parse("\n".join(f"{one.asname or one.name} = {FIND}({node.module!r}, {one.name!r})" for one in node.names)).body


def redirected(tree: Any) -> Any:
    """Return a tree whose imports of torch go through FIND."""
    return ast.fix_missing_locations(Redirected().visit(tree))


def finder(library: str) -> Find:
    """Return what finds a module of torch's, or a name of one, in the library of that name."""

    def find(path: str, name: str | None = None) -> Any:
        module = importlib.import_module(library + path.removeprefix("torch"))
        if name is None or hasattr(module, name):
            return module if name is None else getattr(module, name)
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ModuleNotFoundError:
            raise ImportError(f"cannot import name {name!r} from {path!r}") from None

    return find
