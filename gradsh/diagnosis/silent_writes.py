"""What a program's tree tells of silent mistakes: writes that autograd does not see, layers that are made in each forward."""

from collections.abc import Iterator
from typing import NamedTuple

from gradsh.diagnosis.code import Code, Site, base_of, headed, path_of, targets_of
from gradsh.language import tree

_TRAINED = (
    "Linear", "Bilinear", "Conv", "ConvTranspose", "BatchNorm", "LayerNorm", "GroupNorm", "InstanceNorm", "Embedding", "LSTM", "GRU",
    "RNN", "MultiheadAttention", "Transformer", "PReLU", "Parameter",
)


class Write(NamedTuple):
    """A write in place through `.data`, `.numpy()` or `.detach()` of a path; `made` is the line that took it, `alias` whether under a name.

    `shared`: through `.detach()`, which shares memory and version; `way`: what has none of the tensor's, `.data` or `.numpy()`.
    """

    site: Site
    path: str
    shared: bool
    made: int
    alias: bool
    way: str


def silent_writes(code: Code) -> list[Write]:
    """Return the writes through `.data` and `.detach()`, except those of gradients and of updates from them."""
    return [write for site in code.sites for write in _writes(code, site) if ".grad" not in site.text]


def _writes(code: Code, site: Site) -> Iterator[Write]:
    written = _written(site)
    if written is None:
        return
    source = _source(written)
    if source is not None:
        yield Write(site, source[0], source[1], site.line, alias=False, way=source[2])
    elif path := path_of(base_of(written)):
        binders = [one for one in code.sites if one.same_scope(site) and one.source.name == site.source.name and one.line < site.line
                   and any(path_of(target) == path for target in targets_of(one.statement))]
        made = max(binders, key=lambda one: one.line, default=None)
        value = made.statement.value if made is not None and isinstance(made.statement, tree.Assign) else None
        source = None if value is None else _source(value)
        if source is not None and made is not None:
            yield Write(site, source[0], source[1], made.line, alias=True, way=source[2])


def _written(site: Site) -> object:
    """Return the expression that a statement writes in place."""
    statement = site.statement
    if isinstance(statement, tree.AugAssign):
        return statement.target
    if isinstance(statement, tree.Assign):
        return next((one for one in statement.targets if isinstance(one, tree.Subscript)), None)
    call = statement.value if isinstance(statement, tree.Expr) else None
    if isinstance(call, tree.Call) and isinstance(call.func, tree.Attribute) and call.func.attr.endswith("_") and (
        call.func.attr[-2:] != "__" and call.func.attr not in {"requires_grad_", "detach_", "retain_"}
    ):
        return call.func.value
    return None


def _source(node: object) -> tuple[str, bool, str] | None:
    """Return (path, whether it shares the version, the way) of what `.data`, `.numpy()` or `.detach()` is taken of."""
    node = base_of(node)
    if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr == "numpy":
        inner = _source(node.func.value)
        path = path_of(node.func.value) if inner is None else inner[0]
        return (path, False, ".numpy()") if path else None
    if isinstance(node, tree.Attribute) and node.attr == "data" and (path := path_of(node.value)):
        return path, False, ".data"
    if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) and node.func.attr == "detach" and (
        path := path_of(node.func.value)
    ):
        return path, True, ".detach()"
    return None


def untrained_layers(code: Code) -> Iterator[tuple[Site, str]]:
    """Yield the statements of a forward, under no condition, that make a layer with parameters, and the layer's name."""
    for site in code.sites:
        if site.function is None or site.function.name != "forward" or site.owner is None or _is_function(site.owner):
            continue
        if any(isinstance(one, tree.If | tree.Try) for one in site.parents):
            continue
        for node in headed(site.statement):
            head, _, name = path_of(node.func).rpartition(".") if isinstance(node, tree.Call) else ("", "", "")
            if head in {"nn", "torch.nn", ""} and name.rstrip("123d").removesuffix("Cell") in _TRAINED:
                yield site, name


def _is_function(owner: tree.ClassDef) -> bool:
    return any(path_of(base).rpartition(".")[2] == "Function" for base in owner.bases)
