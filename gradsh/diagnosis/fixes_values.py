"""Fixes of values that do not fit: a dtype, a shape, an index, a misspelt name."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gradsh.diagnosis.code import Draft, Site, closed, headed, inside, path_of, silenced, written
from gradsh.diagnosis.fixes import Finder, with_keyword
from gradsh.diagnosis.fixes_history import number
from gradsh.diagnosis.fixes_leaves import without_gradient
from gradsh.diagnosis.nearest import near
from gradsh.diagnosis.out_of_place import under_local_name
from gradsh.language import tree
from gradsh.probe.modules import is_module
from gradsh.text.span import Source, Span, text_of


def dtype(finder: Finder) -> None:
    """Give a floating point number, or the dtype that is expected."""
    needed, message = finder.site(finder.cause.needed), finder.case.message
    if needed is None:
        return
    if "floating point" in message:
        for node in headed(needed.statement):
            if isinstance(node, tree.Call) and (name := path_of(node.func).rpartition(".")[2]) in {
                "tensor", "arange", "full", "zeros", "ones", "randint", "zeros_like", "ones_like", "as_tensor",
            }:
                text = text_of(needed.source, node.span)
                new = with_keyword(re.sub(r"dtype\s*=\s*[\w.]+", "dtype=torch.float32", text), "dtype=torch.float32")
                new = re.sub(r"dtype\s*=\s*[\w.]+", "dtype=torch.float32", text) if new is None else new
                finder.offer(f"use floating point: `{new}` on line {needed.line}",
                             Draft().replace(needed.source, node.span, new))
                del name
        for node in headed(needed.statement):
            if isinstance(node, tree.Attribute) and node.attr in {"requires_grad", "requires_grad_"} and (path := path_of(node.value)):
                finder.offer(f"use floating point: `{path} = {path}.float()` before line {needed.line}",
                             Draft().insert(needed, "before", f"{path} = {path}.float()"))
    for site in reversed(finder.levels(finder.cause.needed) if finder.cause.needed is not None else [needed]):
        _converted(finder, site)


def _converted(finder: Finder, site: Site) -> None:
    """Convert an operand of the failing expression, the one that the message speaks of first."""
    node = finder.expression(finder.case.span, finder.case.source)
    span = site.statement.span
    if not isinstance(node, tree.Call | tree.BinOp | tree.Subscript) or not span.line <= node.span.line <= span.end_line:
        node = next((one for one in headed(site.statement) if isinstance(one, tree.Call) and one.args), None)
    operands = [node.left, node.right] if isinstance(node, tree.BinOp) else list(node.args[:2]) if isinstance(node, tree.Call) else []
    owner = node.func.value if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) else None
    thrown_away = isinstance(site.statement, tree.Expr) and site.statement.value is node
    operands += [owner] if not thrown_away and owner is not None and hasattr(finder.value(path_of(owner)), "grad_fn") else []
    operands += [node.slice] if isinstance(node, tree.Subscript) else []
    whole = re.search(r"Long|long|int64|index", finder.case.message)
    for method in ("long", "float", "double") if whole is not None else ("float", "double", "long"):
        for operand in reversed(operands):
            text = f"{closed(site.source, operand)}.{method}()"
            finder.offer(f"convert it: `{text}` on line {operand.span.line}", Draft().replace(site.source, operand.span, text))


def shape(finder: Finder) -> None:
    """Give an operand the shape that fits: transposed, or the other's."""
    needed = finder.site(finder.cause.needed)
    node = finder.expression(finder.case.span, finder.case.source)
    if needed is None:
        return
    _resized(finder)
    _joined(finder, needed)
    operands: list[Any] = []
    if isinstance(node, tree.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, tree.Call):
        method = isinstance(node.func, tree.Attribute) and not is_module(finder.value(path_of(node.func))) and path_of(
            node.func.value).split(".")[0] not in {"torch", "F", "nn"}
        owner = node.func.value if method and isinstance(node.func, tree.Attribute) else None
        operands = [*([owner] if owner is not None else []), *node.args][:2]
    if len(operands) != 2 or any(_is_no_tensor(finder, one) for one in operands):
        return
    left, right = (closed(needed.source, one) for one in operands)
    if "multi-target not supported" in finder.case.message:
        given = getattr(finder.value(path_of(operands[1])), "shape", ())
        for new in (f"{right}.argmax(-1)",) if given[-1:] > (1,) else (f"{right}.squeeze(-1)", f"{right}.squeeze(-1).long()"):
            finder.offer(f"give one class for each example: `{new}` on line {operands[1].span.line}",
                         Draft().replace(needed.source, operands[1].span, new))
    product = (isinstance(node, tree.BinOp) and node.op == "@") or bool(
        re.search(r"multiplied|\bmat\w?\b|matrix|matrices", finder.case.message))
    if product or "non-singleton" in finder.case.message:
        choices = _spread(finder, (left, right), operands) if not product else [(1, f"{right}.T"), (0, f"{left}.T")]
    else:
        choices = [*([(1, f"{right}.reshape({left}.shape)")] if path_of(operands[0]) else []), (1, f"{right}.unsqueeze(1)"),
                   *([(0, f"{left}.reshape({right}.shape)")] if path_of(operands[1]) else []), (0, f"{left}.squeeze()"), (1, f"{right}.T")]
    for place, new in choices:
        finder.offer(f"make the shapes match: `{new}` on line {operands[place].span.line}",
                     Draft().replace(needed.source, operands[place].span, new))


def _is_no_tensor(finder: Finder, node: Any) -> bool:
    """Tell whether an operand is known to be something else than a tensor: no shape mends it."""
    value = finder.value(path_of(node)) if path_of(node) else None
    return isinstance(node, tree.List | tree.Tuple | tree.Constant) or (value is not None and not hasattr(value, "grad_fn"))


def _spread(finder: Finder, texts: tuple[str, str], operands: list[Any]) -> list[tuple[int, str]]:
    """Return the operands that an edit gives a shape which spreads over the other one's, by position."""
    given = finder.case.fields.get("shapes") or [getattr(finder.value(path_of(one)), "shape", ()) for one in operands]
    shapes = [tuple(one) for one in given]
    found = []
    for place in (1, 0) if len(shapes) == 2 else ():
        own, other, text = shapes[place], shapes[1 - place], texts[place]
        ways = {"unsqueeze(-1)": (*own, 1), "unsqueeze(1)": (*own[:1], 1, *own[1:]), "squeeze()": tuple(one for one in own if one != 1)}
        ways |= {"T": own[::-1]} if len(own) == 2 else {}
        found += [(place, f"{text}.{way}") for way, shape in ways.items() if _spreads(shape, other)]
        if path_of(operands[1 - place]) and np.prod(own) == np.prod(other):
            found.append((place, f"{text}.reshape({texts[1 - place]}.shape)"))
    return found


def _spreads(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return len(shape) <= len(other) and all(one in {1, size} for one, size in zip(shape[::-1], other[::-1], strict=False))


_LAYERS = (
    (r"\(\d+x(?P<want>\d+) and (?P<have>\d+)x\d+\)", "Linear", 0, "in_features"),
    (r"to have (?P<have>\d+) channels, but got (?P<want>\d+) channels", "Conv", 0, "in_channels"),
    (r"running_mean should contain (?P<want>\d+) elements not (?P<have>\d+)", "BatchNorm", 0, "num_features"),
    (r"input_size\. Expected (?P<have>\d+), got (?P<want>\d+)", "RNN|LSTM|GRU", 0, "input_size"),
    (r"Given normalized_shape=\[(?P<have>\d+)\].*got input of size\[.*?(?P<want>\d+)\]", "LayerNorm", 0, "normalized_shape"),
    (r"Target (?P<last>\d+) is out of bounds", "Linear", 1, "out_features"),
    (r"index out of range in self", "Embedding", 0, "num_embeddings"),
)
"""What a sentence tells of a layer that does not fit: its size, and the size that is needed."""


def _resized(finder: Finder) -> None:
    """A layer of another size than what reaches it: make it of that size, or the one before it."""
    for pattern, layer, place, word in _LAYERS:
        found = re.search(pattern, finder.case.message)
        if found is None:
            continue
        sizes = found.groupdict()
        want = sizes.get("want") or str(_largest_index(finder, int(sizes.get("last") or 0)) + 1)
        calls = [(site, node, size) for site in finder.code.sites for node in headed(site.statement)
                 if isinstance(node, tree.Call) and re.match(layer, path_of(node.func).rpartition(".")[2])
                 and (size := _argument(node, place, word)) is not None and _fits(size, sizes.get("have"), want)]
        for site, node, size in reversed(calls[:6]):
            name = path_of(node.func)
            finder.offer(f"change the size of the layer: `{name}` with {word} {want} on line {node.span.line}",
                         Draft().replace(site.source, size.span, want))


def _argument(call: tree.Call, place: int, word: str) -> Any:
    given = next((one.value for one in call.keywords if one.arg == word), None)
    return given if given is not None else call.args[place] if len(call.args) > place else None


def _fits(size: object, have: str | None, want: str) -> bool:
    """Whether a size as it is written may be the one that does not fit."""
    number = size.value if isinstance(size, tree.Constant) else None
    return (str(number) == have or number is None) if have is not None else isinstance(number, int) and number < int(want)


def _largest_index(finder: Finder, least: int) -> int:
    """Return the largest whole number in the tensors that the failing call is given."""
    node = finder.expression(finder.case.span, finder.case.source)
    for part in node.args if isinstance(node, tree.Call) else ():
        value = finder.case.machine.in_engine_form(finder.value(path_of(part)) if path_of(part) else None)
        array = getattr(value, "array", None)
        if array is not None and array.dtype.kind in "iu" and array.size:
            least = max(least, int(array.max()))
    return least


def _joined(finder: Finder, site: Site) -> None:
    """Join tensors along the dim in which their sizes differ; repeat one with fewer dims for each row of the other."""
    dims = re.search(r"same number of dimensions: got (\d+) and (\d+)", finder.case.message)
    for node in headed(site.statement) if dims is not None else ():
        if isinstance(node, tree.Tuple | tree.List) and len(node.elts) == 2:
            texts = [closed(site.source, one) for one in node.elts]
            few = int(dims[1]) > int(dims[2]) if dims is not None else 0
            new = f"{texts[few]}.expand({texts[not few]}.shape[0], -1)"
            finder.offer(f"repeat it for each row: `{new}` on line {site.line}",
                         Draft().replace(site.source, node.elts[few].span, new))
    if "zero-dimensional tensor" in finder.case.message:
        for node in headed(site.statement):
            if (name := path_of(node)).rpartition(".")[2] in {"cat", "concat", "concatenate"}:
                new = f"{name.rpartition('.')[0]}.stack".lstrip(".")
                finder.offer(f"numbers are stacked: `{new}` on line {site.line}", Draft().replace(site.source, node.span, new))
    if "Sizes of tensors must match except in dimension" not in finder.case.message:
        return
    for node in headed(site.statement):
        if isinstance(node, tree.Call) and path_of(node.func).rpartition(".")[2] in {"cat", "concat", "concatenate"}:
            dim = _argument(node, 1, "dim")
            for new in ("0", "1", "-1"):
                draft = Draft()
                if dim is None:
                    draft.replace(site.source, node.span, f"{text_of(site.source, node.span)[:-1]}, dim={new})")
                else:
                    draft.replace(site.source, dim.span, new)
                finder.offer(f"join along the dim in which the sizes differ: `dim={new}` on line {node.span.line}", draft)


def index(finder: Finder) -> None:
    """Let the indices end where what they index does."""
    node, case = finder.expression(finder.case.span, finder.case.source), finder.case
    site = finder.site(finder.cause.needed)
    if site is None:
        return
    _number_of(finder, site)
    _from_zero(finder, site)
    _resized(finder)
    if "must be long" in case.message:
        _converted(finder, site)
    dim = re.search(r"range of \[(-\d+), (\d+)\], but got (-?\d+)", case.message)
    if dim is not None:
        for part in headed(site.statement):
            if isinstance(part, tree.Constant | tree.UnaryOp) and text_of(site.source, part.span) == dim[3]:
                finder.offer(f"the last dim is -1: `-1` on line {site.line}", Draft().replace(site.source, part.span, "-1"))
    for part in headed(site.statement):
        if isinstance(part, tree.Subscript) and (node is None or part is node or part.value is node):
            _within(finder, site, part)


def _number_of(finder: Finder, site: Site) -> None:
    """An index into what has no dims: take the number (`loss.data[0]` is how it was taken before PyTorch 0.4)."""
    for part in headed(site.statement) if re.search(r"0-dim(ensional)?\b", finder.case.message) else ():
        if isinstance(part, tree.Subscript):
            owner = re.sub(r"(\.data|\.(detach|cpu|numpy)\(\))+$", "", closed(site.source, part.value))
            finder.offer(f"take the number: `{owner}.item()` on line {site.line}",
                         Draft().replace(site.source, part.span, f"{owner}.item()"))


def _from_zero(finder: Finder, site: Site) -> None:
    """Classes that are counted from one: let the first one be 0."""
    target = next((node.args[1] for node in headed(site.statement) if isinstance(node, tree.Call) and len(node.args) > 1), None)
    array = getattr(finder.case.machine.in_engine_form(finder.value(path_of(target))), "array", None)
    if target is not None and "out of bounds" in finder.case.message and array is not None and array.size and array.min() > 0:
        new = f"{closed(site.source, target)} - 1"
        finder.offer(f"the first class is 0: `{new}` on line {site.line}", Draft().replace(site.source, target.span, new))


def _within(finder: Finder, site: Site, part: tree.Subscript) -> None:
    """End the loop that counts an index where what is indexed ends; write the last index instead of one after it."""
    owner = closed(site.source, part.value)
    places = part.slice.elts if isinstance(part.slice, tree.Tuple) else [part.slice]
    for dim, place in enumerate(places):
        length = f"len({owner})" if dim == 0 else f"{owner}.shape[{dim}]"
        if isinstance(place, tree.Constant) and isinstance(place.value, int):
            finder.offer(f"the last one has the index -1: `-1` on line {site.line}", Draft().replace(site.source, place.span, "-1"))
        for loop in site.loops:
            stop = _stop_of(loop, {path_of(one) for one in inside(place)})
            ahead = place.right if isinstance(place, tree.BinOp) and place.op == "+" else None
            new = length if ahead is None else f"{length} - {text_of(site.source, ahead.span)}"
            if stop is not None:
                finder.offer(f"end the loop where {owner} ends: `{new}` on line {stop.span.line}",
                             Draft().replace(site.source, stop.span, new))


def _stop_of(loop: Any, names: set[str]) -> Any:
    """Return where a `for` over `range` stops, if it counts one of some names."""
    counts = isinstance(loop, tree.For) and path_of(loop.target) in names and isinstance(loop.iter, tree.Call)
    if not counts or path_of(loop.iter.func) != "range" or not loop.iter.args:
        return None
    return loop.iter.args[0] if len(loop.iter.args) == 1 else loop.iter.args[1]


def key(finder: Finder) -> None:
    """Write the key that was meant."""
    site = finder.site(finder.cause.needed)
    for part in headed(site.statement) if site is not None else ():
        value = finder.value(path_of(part.value)) if isinstance(part, tree.Subscript) and path_of(part.value) else None
        if site is not None and isinstance(value, dict) and isinstance(part, tree.Subscript) and isinstance(part.slice, tree.Constant):
            for meant in near(str(part.slice.value), [one for one in value if isinstance(one, str)]):
                finder.offer(f"did you mean {meant!r}?", Draft().replace(site.source, part.slice.span, f'"{meant}"'))


def _called(finder: Finder, needed: Site) -> None:
    """A method in the place of its result (`loss = x.mean`): call it."""
    owners = {path_of(node.value) for node in headed(needed.statement) if isinstance(node, tree.Attribute)}
    for site in finder.code.sites:
        value = site.statement.value if isinstance(site.statement, tree.Assign) else None
        if isinstance(value, tree.Attribute) and site.same_scope(needed) and owners & written(site.statement):
            text = text_of(site.source, value.span)
            finder.offer(f"call it: `{text}()` on line {site.line}", Draft().replace(site.source, value.span, f"{text}()"))


def _parameter_bound(finder: Finder, needed: Site, statement: tree.Assign) -> None:
    """A result is bound to the name of a parameter: give it a name of its own, or write it into the parameter."""
    path = path_of(statement.targets[0])
    value = text_of(needed.source, statement.value.span)
    new, draft = under_local_name(finder.code, needed, path, statement.value)
    effect = "it is then a new tensor, and the gradient then flows through it to the parameter"
    if silenced(needed) is None:
        finder.offer(f"bind it to another name: `{new} = {value}` on line {needed.line}, `{new}` from there on", draft, effect)
    effect = "the parameter then has that value, and the gradient then is computed from it"
    finder.offer(f"if it is an update: `{path}.data = {value}` on line {needed.line}", Draft().replace(
        needed.source, statement.targets[0].span, f"{path}.data"), effect)


def arrays(finder: Finder) -> None:
    """Make tensors of numpy's arrays that stand where only tensors may."""
    site = finder.site(finder.cause.needed)
    if site is None:
        return
    parts: list[tuple[Source, Span, str]] = []
    for node in headed(site.statement):
        value, text = finder.value_of(node), text_of(site.source, node.span)
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            parts.append((site.source, node.span, f"torch.from_numpy({text})" + ".float()" * (value.dtype == np.float64)))
        elif isinstance(value, list) and value and all(isinstance(one, np.ndarray) for one in value):
            parts.append((site.source, node.span, f"[torch.from_numpy(one) for one in {text}]"))
    if parts:
        shown = ", ".join(dict.fromkeys(f"`{new}`" for _, _, new in reversed(parts)))
        finder.offer(f"make a tensor of the array: {shown} on line {site.line}", Draft().replace_all(parts),
                     guess=finder.case.story == "type")


def name(finder: Finder) -> None:
    """Write the name that was meant."""
    case = finder.case
    needed = finder.site(finder.cause.needed)
    if needed is None:
        return
    if "ndarray" in case.message:
        arrays(finder)
    number_of = re.search(r"'(?:float|int)' object has no attribute '(\w+)'", case.message)
    if "NoneType" in case.message:
        without_gradient(finder)
    elif number_of is not None:
        number(finder, number_of[1])
    elif "before Module.__init__() call" in case.message and needed.function is not None:
        first = next(site for site in finder.code.sites if site.statement is needed.function.body[0])
        finder.offer(f"call the base class first: `super().__init__()` before line {first.line}",
                     Draft().insert(first, "before", "super().__init__()"))
    elif "should be an iterable of Tensors" in case.message and isinstance(case.expression, tree.Call) and case.expression.args:
        given = case.expression.args[0]
        new = f"[{text_of(needed.source, given.span)}]"
        finder.offer(f"give a list: `{new}` on line {needed.line}", Draft().replace(needed.source, given.span, new))
    elif case.story == "attribute" and callable(case.fields.get("owner", getattr(case.error, "obj", None))):
        _called(finder, needed)
    parameter = re.search(r"cannot assign '[\w.]+' as parameter '(\w+)'", case.message)
    if parameter is not None and isinstance(needed.statement, tree.Assign):
        _parameter_bound(finder, needed, needed.statement)
    text = case.text()
    missing = str(case.fields.get("name") or getattr(case.error, "name", None) or "")
    for meant in case.meant:
        span = case.span
        if case.story == "name" and text == missing:
            new = meant
        elif text.endswith("." + missing):
            new = meant if "." in meant and meant.split(".")[0] == "torch" else f"{text[: -len(missing)]}{meant}"
        elif case.story == "type" and re.search(r"unexpected keyword argument", case.message):
            wrong = re.search(r"unexpected keyword argument '(\w+)'", case.message)
            new = re.sub(rf"\b{wrong[1]}(?=\s*=)", meant, text) if wrong is not None else text
        else:
            continue
        finder.offer(f"did you mean `{meant}`?", Draft().replace(needed.source, span, new))


VALUES: dict[str, Callable[[Finder], None]] = {
    "dtype": dtype, "shape": shape, "value": shape, "index": index, "key": key, "name": name, "attribute": name, "type": name,
}
"""By kind, the rule that finds its fixes."""
