"""A statement that writes in place, written so that it makes a new tensor instead."""

from typing import Any

from gradsh.diagnosis.code import Code, Draft, Site, headed, inside, path_of
from gradsh.language import tree
from gradsh.language.node import SyntaxNode, stmt
from gradsh.text.span import Source, Span, text_of

_FILLING = {"zero_": "torch.zeros_like({0})", "fill_": "torch.full_like({0}, {1})", "copy_": "{1}.clone()"}
"""Writes that have no form of the same name out of place."""
_NOWHERE_ELSE = frozenset({
    "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "set_", "resize_", "requires_grad_", "detach_", "share_memory_",
    "cauchy_", "geometric_", "log_normal_", "fill_diagonal_", "apply_", "map_", "map2_",
})


def anew(statement: stmt, source: Source, span: Span) -> tuple[Span, str] | None:
    """Return what to write in the place of which span, so that the write at `span` makes a new tensor; None: nothing."""
    if isinstance(statement, tree.AugAssign):
        target = text_of(source, statement.target.span)
        value = text_of(source, statement.value.span)
        if isinstance(statement.target, tree.Subscript) or not path_of(statement.target):
            return None
        product = isinstance(statement.value, tree.BinOp) and statement.value.op in {"*", "/", "@", "**"} and statement.op in "+-"
        plain = product or isinstance(statement.value, tree.Name | tree.Attribute | tree.Call | tree.Subscript | tree.Constant)
        return statement.span, f"{target} = {target} {statement.op} {value if plain else f'({value})'}"
    call = statement.value if isinstance(statement, tree.Expr) else None
    if isinstance(call, tree.Call) and (found := _chain(call, source)) is not None:
        return statement.span, f"{found[0]} = {found[1]}"
    for node in headed(statement):
        if isinstance(node, tree.Call) and node.span.covers(span) and isinstance(node.func, tree.Attribute):
            name = node.func.attr
            if name.endswith("_") and not name.startswith("__") and name not in _NOWHERE_ELSE | set(_FILLING):
                text = text_of(source, node.func.span)
                return node.func.span, text.removesuffix("_")
            if (words := _without_keyword(node, source)) is not None:
                return node.span, words
    return None


def _without_keyword(node: tree.Call, source: Source) -> str | None:
    word = next((one for one in node.keywords if one.arg == "inplace"), None)
    if word is None:
        return None
    text = text_of(source, node.span)
    start = text.rfind("inplace")
    return text[:start] + text[start:].replace("True", "False", 1)


def _chain(call: tree.Call, source: Source) -> tuple[str, str] | None:
    """Return the variable that a chain of methods writes (`h.mul_(2).add_(1)`), and the chain out of place."""
    names: list[tuple[str, str]] = []
    node: Any = call
    while isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute):
        arguments = text_of(source, Span(*node.func.span[2:], *node.span[2:]))
        names.append((node.func.attr, arguments))
        node = node.func.value
    path = path_of(node)
    if path == "torch" and len(names) == 1 and names[0][0].endswith("_") and call.args and (first := path_of(call.args[0])):
        return first, f"torch.{names[0][0].removesuffix('_')}{names[0][1]}"
    if not path or not names[0][0].endswith("_"):  # what is called last is the statement's value
        return None
    text = path
    for name, arguments in reversed(names):
        if name in _NOWHERE_ELSE:
            return None
        if name in _FILLING:
            inner = arguments.strip()[1:-1]
            value = inner if name != "copy_" or _is_simple(call, inner) else f"({inner})"
            text = _FILLING[name].format(text, value)
        else:
            text = f"{text}.{name.removesuffix('_')}{arguments}"
    return path, text


def _is_simple(call: tree.Call, text: str) -> bool:
    del call
    return text.replace("_", "").replace(".", "").isalnum()


def under_local_name(code: Code, site: Site, path: str, kept: SyntaxNode | None = None) -> tuple[str, Draft]:
    """Return a new name, and the edits that write it for an attribute from a statement on, in its function, but not in `kept`."""
    own = [one for one in code.sites if one.same_scope(site)]
    taken = {node.id for one in own for node in headed(one.statement) if isinstance(node, tree.Name)}
    name = path.rpartition(".")[2]
    while name in taken:
        name += "_"
    stays = set(map(id, inside(kept))) if kept is not None else set()
    return name, Draft().replace_all((one.source, node.span, name) for one in own if one.line >= site.line for node in headed(one.statement)
                                     if isinstance(node, tree.Attribute) and path_of(node) == path and id(node) not in stays)
