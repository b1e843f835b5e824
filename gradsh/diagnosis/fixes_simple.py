"""Fixes of failures that one expression can mend: a gradient that does not fit, an unused input."""

import itertools
import re
from collections.abc import Callable
from math import prod
from types import CodeType, MethodType
from typing import Any

from gradsh.diagnosis.code import (
    Draft,
    Site,
    closed,
    headed,
    inside,
    path_of,
    reads,
    tail_of,
    targets_of,
    written,
)
from gradsh.diagnosis.explain_other import code_of
from gradsh.diagnosis.fixes import Finder, attribute, call_in, with_keyword
from gradsh.diagnosis.fixes_history import ends_left_out
from gradsh.diagnosis.fixes_leaves import differentiable
from gradsh.diagnosis.fixes_values import arrays
from gradsh.diagnosis.history import CUTTING
from gradsh.engine.graph.tensor import Tensor
from gradsh.language import tree
from gradsh.probe.modules import is_module, parameters_of
from gradsh.text.span import text_of

_SUM = "the gradient of the sum of all elements"
_EQUAL = "all elements then have equal weight: the gradient of the sum"


def scalar(finder: Finder) -> None:
    """Reduce what is gone back from to one number, or give the gradient that arrives."""
    needed = finder.site(finder.cause.needed)
    if needed is None:
        return
    if isinstance(needed.statement, tree.Command):
        for argument in needed.statement.arguments:
            text = text_of(needed.source, argument.span)
            finder.offer(f"reduce it to one number: `backward {text}.sum()` on line {needed.line}",
                         Draft().replace(needed.source, argument.span, f"{text}.sum()"), _SUM)
        return
    call = call_in(needed, "backward") or call_in(needed, "grad")
    if call is None:
        return
    method = isinstance(call.func, tree.Attribute) and call.func.attr == "backward" and path_of(call.func.value) != "torch.autograd"
    root: Any = call.func.value if method and isinstance(call.func, tree.Attribute) else call.args[0] if call.args else None
    if root is None:
        return
    roots = root.elts if isinstance(root, tree.List | tree.Tuple) else [root]
    if isinstance(finder.value(path_of(root)), list | tuple):
        for word in ("sum", "mean"):
            each = f"[part.{word}() for part in {path_of(root)}]"
            finder.offer(f"reduce each to one number: `{each}` on line {needed.line}",
                         Draft().replace(needed.source, root.span, each), f"the gradient of the {word} of all elements")
        return
    _one_by_one(finder, needed, root)
    for word in ("sum", "mean"):
        reduced = Draft().replace_all((needed.source, one.span, f"{_closed(needed, one)}.{word}()") for one in roots)
        shown = f"{_closed(needed, roots[0])}.{word}()" + (".backward()" if method else "")
        finder.offer(f"reduce it to one number: `{shown}` on line {needed.line}", reduced,
                     _SUM if word == "sum" else "the gradient of the mean of all elements")
    text = text_of(needed.source, call.span)
    ones = f"torch.ones_like({text_of(needed.source, root.span)})"
    if len(roots) == 1 and root is roots[0]:
        new = with_keyword(text, f"{'gradient' if method else 'grad_outputs'}={ones}") if not call.args[1:] or not method else None
        if new is not None:
            finder.offer(f"give the gradient of the output: `{ones}` on line {needed.line}",
                         Draft().replace(needed.source, call.span, new), _EQUAL)


def _one_by_one(finder: Finder, needed: Site, root: Any) -> None:
    """A loop that counts and reads nowhere where it is (the rows of a Hessian): take the element whose turn it is."""
    loop = needed.loops[-1] if needed.loops else None
    if not isinstance(loop, tree.For) or not isinstance(loop.iter, tree.Call) or path_of(loop.iter.func) != "range":
        return
    count, read = path_of(loop.target), {path_of(part) for one in loop.body for part in inside(one)}
    anew = any(path_of(root) in written(site.statement) for site in finder.code.sites if any(one is loop for one in site.loops))
    if count and count not in read and not anew and getattr(finder.value(path_of(root)), "ndim", 0) == 1:
        new = f"{_closed(needed, root)}[{count}]"
        finder.offer(f"call backward on one element in each iteration: `{new}` on line {needed.line}",
                     Draft().replace(needed.source, root.span, new), "each iteration then gives the gradient of one element")


def _closed(site: Site, node: Any) -> str:
    return closed(site.source, node)


def grad_shape(finder: Finder) -> None:
    """Give a gradient of the shape of the tensor; let a hook or a backward return one."""
    needed = finder.site(finder.cause.needed)
    hook = finder.case.fields.get("hook")
    code = code_of(hook)
    if code is not None:
        _hook(finder, code, hook)
    if needed is None:
        return
    call = call_in(needed, "backward")
    if call is not None and isinstance(call.func, tree.Attribute) and (call.args or call.keywords):
        root = text_of(needed.source, call.func.value.span)
        given = call.args[0] if call.args else next((word.value for word in call.keywords if word.arg == "gradient"), None)
        have, want = [*re.findall(r"torch\.Size\(\[([\d, ]*)\]\)", finder.case.message), "", ""][:2]
        if given is not None:
            if _count(have) == _count(want):
                new = f"{_closed(needed, given)}.reshape({want or '()'})"
                finder.offer(f"give it in the tensor's shape: `{new}` on line {needed.line}",
                             Draft().replace(needed.source, given.span, new))
            finder.offer(f"give a gradient of its shape: `torch.ones_like({root})` on line {needed.line}",
                         Draft().replace(needed.source, given.span, f"torch.ones_like({root})"),
                         _EQUAL)
        if want:
            finder.offer(f"reduce it first: `{root}.sum().backward()` on line {needed.line}",
                         Draft().replace(needed.source, call.span, f"{root}.sum().backward()"), _EQUAL)
    grad = call_in(needed, "grad")
    if grad is not None and grad.args:
        root = text_of(needed.source, grad.args[0].span)
        given = next((word.value for word in grad.keywords if word.arg == "grad_outputs"), grad.args[2] if len(grad.args) > 2 else None)
        if given is not None:
            finder.offer(f"give a gradient of its shape: `torch.ones_like({root})` on line {needed.line}",
                         Draft().replace(needed.source, given.span, f"torch.ones_like({root})"),
                         _EQUAL)
    if isinstance(needed.statement, tree.Command):
        for argument in needed.statement.arguments:
            text = text_of(needed.source, argument.span)
            for option, answer in needed.statement.options.items():
                if option == "grad":
                    finder.offer(f"give a gradient of its shape: `--grad ones_like({text})` on line {needed.line}",
                                 Draft().replace(
                                     needed.source, answer.span, f"--grad ones_like({text})"), _EQUAL)
    for target in getattr(needed.statement, "targets", ()):
        if isinstance(target, tree.Attribute) and target.attr == "grad" and isinstance(needed.statement, tree.Assign):
            owner = text_of(needed.source, target.value.span)
            value = needed.statement.value
            text = _closed(needed, value)
            made = (f"torch.ones_like({owner})",) if re.match(r"torch\.(ones|tensor|full)\b", text) else ()
            for new in (f"{text}.expand_as({owner}).clone()", f"{text}.reshape({owner}.shape)", f"{text}.sum_to_size({owner}.shape)",
                        *made):
                finder.offer(f"assign a gradient of its shape: `{new}` on line {needed.line}",
                             Draft().replace(needed.source, value.span, new),
                             "the gradient then has the shape of the tensor")
    _custom_backward(finder)


def _count(sizes: str) -> int:
    """Return how many elements a shape has, as a message writes it."""
    return prod(int(size) for size in re.findall(r"\d+", sizes))


def _hook(finder: Finder, code: CodeType, hook: object) -> None:
    """A hook that returns another shape."""
    unit = finder.case.machine.units.of(code)
    if unit is None:
        return
    own = isinstance(hook, MethodType) or not hasattr(hook, "__code__")  # it has `self` before the gradient
    name = code.co_varnames[own] if code.co_argcount > own else "grad"
    for site in finder.code.sites:
        if site.source is not unit.source or not site.statement.span.line <= code.co_firstlineno <= site.statement.span.end_line:
            continue
        results: list[Any] = []
        if isinstance(site.statement, tree.FunctionDef) and site.statement.name == code.co_name:
            results = [one.value for one in inside(site.statement) if isinstance(one, tree.Return) and one.value is not None]
        elif code.co_name == "<lambda>" and not isinstance(site.statement, tree.FunctionDef | tree.ClassDef):
            results = [node.body for node in headed(site.statement) if isinstance(node, tree.Lambda)]
        for value in results[:2]:
            text = _closed(site, value)
            _unreduced(finder, site, value)
            _masked(finder, site, value, getattr(hook, "__self__", hook))
            for new in (f"{text}.reshape({name}.shape)", f"{text}.expand_as({name})", f"{text}.sum_to_size({name}.shape)", name):
                finder.offer(f"return the shape that the hook receives: `{new}` on line {value.span.line}",
                             Draft().replace(site.source, value.span, new),
                             "the gradient then has the shape of the tensor")


def _masked(finder: Finder, site: Site, value: Any, owner: object) -> None:
    """A hook that returns the rows of a mask: let it return zeros in the others."""
    path = path_of(value.slice) if isinstance(value, tree.Subscript) else ""
    head, _, name = path.partition(".")
    mask = attribute(owner, name) if head == "self" else finder.value(path) if path else None
    if isinstance(mask, Tensor) and mask.array.dtype == bool:
        ndim = len(finder.case.fields.get("shape", (*mask.array.shape, 1)))
        dims = f"[..., {', '.join(['None'] * (ndim - mask.ndim))}]" if mask.ndim < ndim else ""
        new = f"{text_of(site.source, value.value.span)} * {path}{dims}"
        finder.offer(f"return zeros in the other rows from the hook: `{new}` on line {value.span.line}",
                     Draft().replace(site.source, value.span, new), "the gradient then has the shape of the tensor")


def _unreduced(finder: Finder, site: Site, value: Any) -> bool:
    """Leave out what changes the shape of a gradient; tell whether there is such a call."""
    found = [node for node in inside(value) if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute)
             and node.func.attr in {"sum", "mean", "flatten", "ravel", "view", "squeeze", "norm", "max", "min", "amax", "amin"}]
    for node in found:
        tail = tail_of(node)
        finder.offer(f"remove `{text_of(site.source, tail)}` on line {node.span.line}", Draft().replace(site.source, tail, ""),
                     "the gradient then has the shape of the tensor")
    return bool(found)


def _custom_backward(finder: Finder) -> None:
    """A backward of the script's own that returns a gradient of another shape than its input's."""
    found = re.search(r"index (\d+) - got \[([\d, ]*)\] but expected shape compatible with \[([\d, ]*)\]", finder.case.message)
    if found is None:
        return
    shape = ", ".join(part for part in re.split(r",\s*", found[3]) if part)
    for site in finder.code.sites:
        if site.function is None or site.function.name != "backward" or not isinstance(site.statement, tree.Return):
            continue
        value: Any = site.statement.value
        parts = value.elts if isinstance(value, tree.Tuple) else [value]
        index = int(found[1])
        if value is None or index >= len(parts):
            continue
        _spread(finder, site, parts[index], index)
        arriving = [] if _unreduced(finder, site, parts[index]) else [one.arg for one in site.function.args.args[1:2]]
        texts = dict.fromkeys((_closed(site, parts[index]), *arriving))
        turned = ", ".join(reversed(shape.split(", "))) == ", ".join(found[2].split(", ")) != shape
        methods = (".t()",) if turned else tuple(f".{one}({shape})" for one in ("sum_to_size", "reshape", "expand"))
        for text, method in itertools.product(texts, methods):
            new = f"{text}{method}" if shape else f"{text}.sum()"
            finder.offer(f"return the shape of the input: `{new}` on line {parts[index].span.line}",
                         Draft().replace(site.source, parts[index].span, new),
                         "the gradient then has the shape of the tensor")


def _spread(finder: Finder, site: Site, value: Any, index: int) -> None:
    """The forward reduces along a dim: its gradient goes to each place of that dim, for a mean in equal parts."""
    for one in finder.code.sites:
        if one.owner is not site.owner or one.function is None or one.function.name != "forward":
            continue
        given = one.function.args.args[index + 1].arg
        for node in headed(one.statement):
            dims = [*node.args, *(word.value for word in node.keywords)] if isinstance(node, tree.Call) else []
            name = node.func.attr if isinstance(node, tree.Call) and isinstance(node.func, tree.Attribute) else ""
            if name not in {"sum", "mean"} or len(dims) != 1 or given not in reads(node):
                continue
            kept, at = _kept_shape(finder, site, given), text_of(one.source, dims[0].span)
            new = f"{_closed(site, value)}.unsqueeze({at}).expand({kept})" + (f" / {kept}[{at}]" if name == "mean" else "")
            if kept:
                finder.offer(f"expand it to the shape of the input: `{new}` on line {value.span.line}",
                             Draft().replace(site.source, value.span, new), f"the gradient of a {name}")


def _kept_shape(finder: Finder, site: Site, given: str) -> str:
    """Return where a backward finds the shape of an argument of its forward, empty where it does not."""
    for one in finder.code.sites:
        if one.owner is site.owner and isinstance(one.statement, tree.Assign):
            value = one.statement.value
            parts = value.elts if isinstance(value, tree.Tuple) else [value]
            for target, part in zip(targets_of(one.statement), parts, strict=False):
                if path_of(part) == f"{given}.shape" and path_of(target).startswith("ctx."):
                    return path_of(target)
    return ""


def unused(finder: Finder) -> None:
    """Allow that an input is not used, or leave it out."""
    needed = finder.site(finder.cause.needed)
    call = None if needed is None else call_in(needed, "grad") or call_in(needed, "backward")
    if needed is None or call is None:
        return
    index = finder.case.fields.get("index")
    inputs = call.args[1] if len(call.args) > 1 else None
    _used(finder, needed, inputs.elts[index] if isinstance(inputs, tree.List | tree.Tuple) and isinstance(index, int) else inputs)
    _uncopied(finder)
    text = text_of(needed.source, call.span)
    for word, effect in (("allow_unused=True", "the gradient then is None for an unused input"),
                         ("materialize_grads=True", "the gradient then is zeros for an unused input")):
        new = with_keyword(text, word)
        if new is not None:
            finder.offer(f"allow unused inputs: `{word}` on line {needed.line}",
                         Draft().replace(needed.source, call.span, new), effect, changes=effect)
    if isinstance(inputs, tree.List | tree.Tuple) and isinstance(index, int) and len(inputs.elts) > 1 and index < len(inputs.elts):
        kept = ", ".join(text_of(needed.source, one.span) for place, one in enumerate(inputs.elts) if place != index)
        new = f"[{kept}]"
        finder.offer(f"remove it: `{new}` on line {needed.line}",
                     Draft().replace(needed.source, inputs.span, new), "no gradient is computed for it")


def _uncopied(finder: Finder) -> None:
    """The result was computed with a copy of the module that has the input: a copy has leaves of its own."""
    for site, node in finder.code.named("deepcopy"):
        call = next((one for one in headed(site.statement) if isinstance(one, tree.Call) and one.func is node), None)
        path = path_of(call.args[0]) if call is not None and call.args else ""
        module = finder.value(path) if path else None
        if call is not None and is_module(module) and any(one is finder.cause.tensor for _, one in parameters_of(module)):
            finder.offer(f"use the original instead of a copy: `{path}` on line {site.line}",
                         Draft().replace(site.source, call.span, path), "a copy has its own leaves")


def _uncut(finder: Finder) -> None:
    """The input went in, and was cut off on the way: leave out what ends its history."""
    names = {name for scope in finder.scopes() for name, value in scope.items() if value is finder.cause.tensor}
    for site in finder.code.sites:
        given = names | ({one.arg for one in site.function.args.args} if site.function is not None else set())
        if any(given & set(map(path_of, inside(node))) for node in headed(site.statement) if _ends(node)):
            ends_left_out(finder, site)


def _ends(node: object) -> bool:
    """Whether an expression ends a history."""
    if isinstance(node, tree.Attribute):
        return node.attr == "data"
    return isinstance(node, tree.Call) and getattr(node.func, "attr", "") in CUTTING


def _used(finder: Finder, needed: Site, node: object) -> None:
    """An input that was made of another name, which then was used in its place: use it; bound after that: bind it before."""
    path = path_of(node)
    _uncut(finder)
    before = [site for site in finder.code.sites if site.same_scope(needed) and site.line < needed.line]
    _asked_first(finder, path, before)
    local = [site for site in before if isinstance(site.statement, tree.Assign)]
    made = next((site for site in reversed(local) if path and path in written(site.statement)), None)
    if made is None:
        return
    older = set(reads(made.statement))
    for site in local:
        used = [part for part in headed(site.statement) if isinstance(part, tree.Name) and part.id in older and part.id != path
                and isinstance(finder.value(part.id), Tensor)]
        if site.line > made.line and used and len({part.id for part in used}) == 1:
            finder.offer(f"use it: `{path}` instead of `{used[0].id}` on line {site.line}",
                         Draft().replace_all((site.source, part.span, path) for part in used), "the gradient then flows to it")
        elif path in older and path in reads(site.statement) and site.line < made.line and site.same_block(made):
            finder.offer(f"bind it before it is used: line {made.line} before line {site.line}",
                         Draft().remove(made).insert(site, "before", made.text), "the gradient then flows to it")


def _asked_first(finder: Finder, path: str, before: list[Site]) -> None:
    """The gradient of an input is asked for after the input was used: ask first."""
    for site in before if path else ():
        call = site.statement.value if isinstance(site.statement, tree.Expr) else None
        asked = isinstance(call, tree.Call) and path_of(call.func) == f"{path}.requires_grad_"
        readers = [one for one in before if one.line < site.line and one.same_block(site) and path in reads(one.statement)]
        if asked and readers:
            first = min(readers, key=lambda one: one.line)
            finder.offer(f"make it require grad before it is used: line {site.line} before line {first.line}",
                         Draft().remove(site).insert(first, "before", site.text), "the gradient then reaches it")


def other(finder: Finder) -> None:
    """Failures without a kind of their own that one expression can mend."""
    needed, message = finder.site(finder.cause.needed), finder.case.message
    count = re.search(r"function (\w+)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)\)", message)
    if count is not None:
        _counted(finder, count[1], int(count[2]), int(count[3]))
    if "nference tensor" in message:
        _without_inference(finder)
    if "once_differentiable" in message:
        differentiable(finder)
    if "Can't call numpy()" not in message:
        return
    arrays(finder)
    for node in headed(needed.statement) if needed is not None else ():
        if isinstance(node, tree.Call) and needed is not None and isinstance(node.func, tree.Attribute):
            parts = [node.func.value] if node.func.attr == "numpy" else node.args if path_of(node.func).startswith("np.") else []
            finder.offer(f"pass only the values to numpy: `.detach()` on line {node.span.line}", Draft().replace_all(
                (needed.source, one.span, f"{_closed(needed, one)}.detach()") for one in parts), "numpy's result has no graph")


def _without_inference(finder: Finder) -> None:
    """`no_grad` records nothing, either, and its results may be part of a later graph."""
    parts = [(site.source, node.span, text_of(site.source, node.span).replace("inference_mode", "no_grad"))
             for site, node in finder.code.named("inference_mode")]
    for some in [[part] for part in parts] + [parts]:
        lines = " and ".join(str(span.line) for _, span, _ in some)
        finder.offer(f"create it under `no_grad` instead of inference mode, on line {lines}", Draft().replace_all(some),
                     "this records no operations either")


def _counted(finder: Finder, name: str, want: int, got: int) -> None:
    """A backward of the script's own returns a gradient for each argument of its forward: None for what has none."""
    own = [site for site in finder.code.sites if site.function is not None and site.function.name == "backward"
           and site.owner is not None and site.owner.name == name]
    if own and not any(isinstance(site.statement, tree.Return) for site in own):
        _nothing_returned(finder, own)
    for site in own:
        value = site.statement.value if isinstance(site.statement, tree.Return) else None
        if value is None:
            continue
        parts = value.elts if isinstance(value, tree.Tuple) else [value]
        texts = [text_of(site.source, one.span) for one in parts][:want] + ["None"] * (want - got)
        finder.offer(f"return one gradient for each argument of its forward: `return {', '.join(texts)}` on line {site.line}",
                     Draft().replace(site.source, value.span, ", ".join(texts)), "None where there is no gradient")


def _nothing_returned(finder: Finder, own: list[Site]) -> None:
    """A backward ends without returning what it computed: each gradient is named after its argument."""
    owner, last = own[0].owner, max((site for site in own if len(site.parents) == len(own[0].parents)), key=lambda site: site.line)
    forward = next((part for part in owner.body if isinstance(part, tree.FunctionDef) and part.name == "forward"), None) if owner else None
    bound = {path for site in own for path in written(site.statement)}
    names = [one.arg for one in forward.args.args[1:]] if forward is not None else []
    found = [next((each for each in (f"grad_{name}", f"{name}_grad", f"d{name}", f"d_{name}") if each in bound), "None") for name in names]
    if any(each != "None" for each in found):
        line = f"return {', '.join(found)}"
        finder.offer(f"return one gradient for each argument of its forward: `{line}` after line {last.statement.span.end_line}",
                     Draft().insert(last, "after", line), "None where there is no gradient")


SIMPLE: dict[str, Callable[[Finder], None]] = {"scalar": scalar, "grad_shape": grad_shape, "unused": unused, "other": other}
"""By kind, the rule that finds its fixes."""
