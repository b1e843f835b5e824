"""Fixes for what left the graph as numbers: a computation in numpy, `.item()` in a list."""

from collections.abc import Iterator
from typing import Any

from gradsh.diagnosis.code import Draft, Site, headed, inside, path_of, tail_of, targets_of
from gradsh.diagnosis.fixes import Finder
from gradsh.diagnosis.fixes_shared import building
from gradsh.language import tree
from gradsh.text.span import Source, Span, text_of

GOES_ON = "the graph continues"

_NUMPY = frozenset({"np", "numpy", "math"})
_DRAWN = ("np.random.", "numpy.random.")


def in_torch(finder: Finder, site: Site) -> None:
    """A computation in numpy: write all of it, in its function, with torch."""
    parts: list[tuple[Source, Span, str]] = []
    lines: set[int] = set()
    computing = _computing(finder, site)
    near = [one for one in finder.code.sites if one.same_scope(site) and one.source is site.source and id(one.statement) in computing]
    called = {path_of(node.func) for node in headed(site.statement) if isinstance(node, tree.Call)}
    near = near if site.function is not None else [site]
    for one in [*near, *(one for one in finder.code.sites if one.function is not None and one.function.name in called)]:
        found = list(_numpy_parts(finder, one))
        parts += found
        lines.update(span.line for _, span, _ in found)
    if any(new for _, _, new in parts) or len(parts) > 1:
        listed = ", ".join(map(str, sorted(lines)))
        finder.offer(f"compute with torch, not with numpy, on line{'s' if len(lines) > 1 else ''} {listed}",
                     Draft().replace_all(parts), GOES_ON)


def _computing(finder: Finder, site: Site) -> set[int]:
    """Return the ids of the statements of a function that compute what its pass goes back from, or else what it returns."""
    needed = finder.cause.needed
    ends = [one for one in (finder.levels(needed) if needed is not None else ()) if one.same_scope(site)]
    ends = ends or [one for one in finder.code.sites if one.same_scope(site) and isinstance(one.statement, tree.Return)]
    return {id(site.statement), *(id(one.statement) for end in ends for one in [end, *building(finder, end)])}


def _numpy_parts(finder: Finder, site: Site) -> Iterator[tuple[Source, Span, str]]:
    """Yield what makes a statement compute with numbers or arrays, and what stands there instead."""
    for node in headed(site.statement):
        if not isinstance(node, tree.Call):
            continue
        path = path_of(node.func)
        head, _, name = path.rpartition(".")
        if name in {"std", "var"} and not any(word.arg in {"ddof", "unbiased", "correction"} for word in node.keywords):
            end = Span(*node.span[2:], *node.span[2:])
            end = end._replace(column=end.column - 1)
            yield site.source, end, f"{', ' if node.args or node.keywords else ''}unbiased=False)"
        if head in _NUMPY and name not in {"array", "asarray"}:
            yield site.source, node.func.span, f"torch.{name}"
        elif name in {"from_numpy", "tensor", "as_tensor", "FloatTensor"} or (head in _NUMPY and name) or path == "float":
            if node.args and not isinstance(node.args[0], tree.List | tree.Constant):
                listed = isinstance(bound_to(finder, site, node.args[0]), tree.List | tree.ListComp)
                yield site.source, node.func.span, "torch.stack" if listed else ""
                dtype = next((word.value for word in node.keywords if word.arg == "dtype"), None)
                if node.keywords:
                    yield site.source, Span(*node.args[0].span[2:], *node.span[2:]), ")" if dtype is None else (
                        f").to({text_of(site.source, dtype.span)})")
        elif isinstance(node.func, tree.Attribute) and node.func.attr in {"numpy", "detach", "cpu", "item"} and not node.args:
            yield site.source, tail_of(node), ""
    yield from ((site.source, node.span, f"torch.as_tensor({node.id}).float()") for node in headed(site.statement)
                if isinstance(node, tree.Name) and path_of(getattr(bound_to(finder, site, node), "func", None)).startswith(_DRAWN))


def without_items(finder: Finder, site: Site, node: tree.Call, first: Any) -> None:
    """`torch.tensor([x.item() for …])`: the items, stacked, keep their histories."""
    source = site.source
    if isinstance(first, tree.Name):
        _gathered_with_history(finder, site, node, first.id)
    items = [part for part in inside(first) if isinstance(part, tree.Call) and isinstance(part.func, tree.Attribute)
             and part.func.attr in {"item", "detach"}]
    if items and isinstance(first, tree.List | tree.ListComp):
        build = Draft().replace(source, node.func.span, "torch.stack").replace_all(
            (source, tail_of(part), "") for part in items if isinstance(part.func, tree.Attribute))
        finder.offer(f"stack the tensors themselves on line {site.line}: `torch.stack([…])` without `.item()`", build,
                     "numbers have no graph")


def _gathered_with_history(finder: Finder, site: Site, node: tree.Call, name: str) -> None:
    """`rows.append(x.item())`, `rows.extend(x.tolist())` … `torch.tensor(rows)`: gather the tensors, and join them."""
    draft, lines, joined = Draft(), [], "torch.stack"
    for one in finder.code.sites:
        call = one.statement.value if isinstance(one.statement, tree.Expr) and one.same_scope(site) else None
        if not isinstance(call, tree.Call) or not isinstance(call.func, tree.Attribute) or path_of(call.func.value) != name:
            continue
        ends = [part for part in call.args if isinstance(part, tree.Call) and isinstance(part.func, tree.Attribute)
                and part.func.attr in {"item", "tolist"}]
        for part in ends:
            draft.replace(one.source, tail_of(part), "")
            lines.append(str(one.line))
        if ends and call.func.attr == "extend":
            joined = "torch.cat"
            draft.replace(one.source, tail_of(call.func), ".append")
    if lines:
        finder.offer(f"gather tensors, not numbers, on line {' and '.join(lines)}, and join them: `{joined}({name})` on line {site.line}",
                     draft.replace(site.source, node.func.span, joined), "numbers have no graph")


def bound_to(finder: Finder, site: Site, node: object) -> Any:
    """Return what a name was bound to before, in the same function; any other expression as it is."""
    bound = [one.statement.value for one in finder.code.sites if one.same_scope(site) and one.line < site.line
             and isinstance(one.statement, tree.Assign) and path_of(node) in map(path_of, targets_of(one.statement))]
    return bound[-1] if bound and isinstance(node, tree.Name) else node
