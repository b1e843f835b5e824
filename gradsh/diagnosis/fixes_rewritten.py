"""Ways out of a failure that write a line differently: out of place, with a history, with a gradient that fits."""

import re
from collections.abc import Callable, Iterator

from gradsh.diagnosis.fix import Edit, Story, Way, indent_of
from gradsh.diagnosis.out_of_place import out_of_place
from gradsh.text.problem import Label

_STORED = re.compile(r"(\s*)(\w+)\[.+\]\s*(?:[-+*/]?)=[^=].*")


def _version(story: Story) -> Iterator[Way]:
    for label in story.every("modified")[:3]:
        line, number = story.line(label), label.span.line
        if new := out_of_place(line):
            yield Way(f"write line {number} out of place: `{new[1].strip()}`", "the saved tensor stays as it was",
                      (Edit(number, "replace", new[1]),))
        elif found := _STORED.fullmatch(line):
            clone = f"{found[1]}{found[2]} = {found[2]}.clone()"
            yield Way(f"write to a copy: `{clone.strip()}` before line {number}", "the saved tensor stays as it was",
                      (Edit(number, "before", clone),))
        else:
            needed = story.first("needed")
            later = f"run the backward of line {needed.span.line} before line {number}" if needed is not None else ""
            yield Way(later or f"do not write in place on line {number}", "the saved tensor is then used before it changes")


# --- no gradient is required ----------------------------------------------------------------------------------------

_FACTORY = re.compile(r"(?:torch\.)?(?:tensor|zeros|ones|rand|randn|full|empty|linspace|eye|arange|(?:zeros|ones|rand|randn|full)_like)\(")
_FREEZES = re.compile(r"\.requires_grad\s*=\s*False|\.requires_grad_\(False\)")
_SILENT = re.compile(r"\s*with .*\b(no_grad|inference_mode|set_grad_enabled)\b.*:")


def _no_grad(story: Story) -> Iterator[Way]:
    for label in story.every("built"):
        if "ends" in label.text:
            yield from _history(story, label)
        elif "needs no gradient" in label.text:
            yield from _asked_for(story, label)


def _history(story: Story, label: Label) -> Iterator[Way]:
    """The statement ends a history: let it go on."""
    line, number = story.line(label), label.span.line
    silent = _silent_block(story, label)
    if silent is not None:
        yield _recorded(story, label, silent)
    for word in (".detach()", ".data", ".item()"):
        if word in line:
            yield Way(f"leave out `{word}` on line {number}", "the history goes on", (
                Edit(number, "replace", line.replace(word, "", 1)),))
    for old, new, fits in (
        ("tensor([", "stack([", "`tensor` copies numbers, `stack` joins tensors with their histories"),
        (".argmax(", ".amax(", "values have a gradient, indices have none"),
    ):
        if old in line:
            changed = line.replace(old, new, 1)
            yield Way(f"write line {number} as `{changed.strip()}`", fits, (Edit(number, "replace", changed),))
    found = re.search(r"autograd\.grad\(", line)
    if found is not None and "create_graph" not in line and (end := _closing(line, found.end() - 1)) is not None:
        changed = f"{line[:end]}, create_graph=True{line[end:]}"
        yield Way(f"let the gradient have a history: `{changed.strip()}` on line {number}", "costs a graph of the gradient",
                  (Edit(number, "replace", changed),))


def _silent_block(story: Story, label: Label) -> int | None:
    """Return the line of the `with` around a label that turns histories off."""
    source = label.source or story.source
    indent = len(indent_of(source.line(label.span.line)))
    for number in range(label.span.line - 1, 0, -1):
        line = source.line(number)
        if line.strip() and len(indent_of(line)) < indent:
            if _SILENT.match(line):
                return number
            indent = len(indent_of(line))
    return None


def _recorded(story: Story, label: Label, block: int) -> Way:
    """Take the statement out of the block where it is all there is, else record it inside."""
    source, number, line = label.source or story.source, label.span.line, story.line(label)
    indent = indent_of(line)
    inside = [source.line(at) for at in range(block + 1, number)] + [_line_after(story, label)]
    if not any(one.strip() and indent_of(one) >= indent for one in inside):
        edits = (Edit(block, "replace", indent_of(source.line(block)) + line.strip()), Edit(number, "replace", ""))
        return Way(f"take line {number} out of the `with` of line {block}", "its history is then kept", edits)
    edits = (Edit(number, "before", f"{indent}with torch.enable_grad():"), Edit(number, "replace", f"    {line}"))
    return Way(f"take line {number} out of the `with` of line {block}, or put it into `with torch.enable_grad():`",
               "its history is then kept", edits)


def _line_after(story: Story, label: Label) -> str:
    source = label.source or story.source
    try:
        return source.line(label.span.line + 1)
    except IndexError:
        return ""


def _closing(text: str, start: int) -> int | None:
    """Return the place of the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return None


def _asked_for(story: Story, label: Label) -> Iterator[Way]:
    """The statement makes something that needs no gradient: ask for one, or leave out what froze it."""
    text, number = story.text(label), label.span.line
    found = _FACTORY.match(text)
    if found is not None and _closing(text, found.end() - 1) == len(text) - 1:
        new = _needing(text)
        yield Way(f"ask for a gradient where it is made: `{new}` on line {number}", "for what is to be learnt",
                  (story.replaced(label, new),))
        return
    needed, source = story.first("needed"), label.source or story.source
    for at in range(number + 1, needed.span.line if needed is not None else number):
        line = source.line(at)
        if _FREEZES.search(line):
            new = line.replace("False", "True", 1)
            yield Way(f"do not freeze what is to be learnt: `{new.strip()}` on line {at}", "", (Edit(at, "replace", new),))


def _needing(text: str) -> str:
    if "requires_grad=False" in text:
        return text.replace("requires_grad=False", "requires_grad=True")
    inside = text[text.index("(") + 1 : -1]
    whole = re.search(r"\b(tensor|arange|full)\(", text) and re.search(r"\d", inside) and "." not in inside and "dtype" not in inside
    parts = [part for part in (inside, "dtype=torch.float32" if whole else "", "requires_grad=True") if part]
    return f"{text[: text.index('(')]}({', '.join(parts)})"


# --- a gradient that does not fit -----------------------------------------------------------------------------------


def _scalar(story: Story) -> Iterator[Way]:
    needed = story.first("needed")
    if needed is None:
        return
    text = story.text(needed)
    if found := re.fullmatch(r"(.+)\.backward\(\)", text):
        new = f"{found[1]}.sum().backward()"
    elif found := re.fullmatch(r"backward\s+(\w+)", text):
        new = f"backward {found[1]}.sum()"
    else:
        return
    yield Way(f"reduce it to one number: `{new}` on line {needed.span.line}", "the gradient of the sum of all elements",
              (story.replaced(needed, new),))


def _grad_shape(story: Story) -> Iterator[Way]:
    """The gradient that was passed has another shape than the result: pass one of its shape, or reduce the result."""
    needed = story.first("needed")
    if needed is None:
        return
    text, number = story.text(needed), needed.span.line
    if found := re.fullmatch(r"([\w.]+)\.backward\((?:gradient=)?(.+)\)", text):
        pairs = (f"{found[1]}.backward(torch.ones_like({found[1]}))", f"{found[1]}.sum().backward()")
    elif found := re.fullmatch(r"backward\s+(\w+)\s+--grad\s+.+", text):
        pairs = (f"backward {found[1]} --grad ones_like({found[1]})", f"backward {found[1]}.sum()")
    else:
        return
    fits = ("every element then counts as much; any tensor of this shape will do", "the same gradient in fewer words")
    for new, why in zip(pairs, fits, strict=True):
        yield Way(f"pass a gradient of its shape: `{new}` on line {number}" if why == fits[0] else f"reduce it first: `{new}`", why,
                  (story.replaced(needed, new),))


# --- written in place, or changed, where that may not be ------------------------------------------------------------


def _leaf_inplace(story: Story) -> Iterator[Way]:
    needed = story.first("needed")
    if needed is None:
        return
    line, number = story.line(needed), needed.span.line
    indent = indent_of(line)
    edits = (Edit(number, "before", f"{indent}with torch.no_grad():"), Edit(number, "replace", f"    {line}"))
    yield Way(f"if it is an update: put line {number} into `with torch.no_grad():`", "autograd does not follow it", edits)
    if new := out_of_place(line):
        yield Way(f"if it is part of the computation: `{new[1].strip()}`", f"{new[0]} is then a new tensor and no leaf",
                  (Edit(number, "replace", new[1]),))
    elif found := _STORED.fullmatch(line):
        clone = f"{found[1]}{found[2]} = {found[2]}.clone()"
        yield Way(f"if it is part of the computation: `{clone.strip()}` before line {number}", f"{found[2]} is then no leaf",
                  (Edit(number, "before", clone),))


def _view_inplace(story: Story) -> Iterator[Way]:
    needed = story.first("needed")
    if needed is None:
        return
    line, number = story.line(needed), needed.span.line
    if new := out_of_place(line):
        name = new[0]
        yield Way(f"write line {number} out of place: `{new[1].strip()}`", "what it is a view of stays as it was",
                  (Edit(number, "replace", new[1]),))
    elif found := _STORED.fullmatch(line):
        name = found[2]
    else:
        return
    clone = f"{indent_of(line)}{name} = {name}.clone()"
    yield Way(f"write to a copy: `{clone.strip()}` before line {number}", "what it is a view of stays as it was",
              (Edit(number, "before", clone),))


def _not_leaf(story: Story) -> Iterator[Way]:
    needed, built = story.first("needed"), story.first("built")
    if needed is None:
        return
    line, number = story.line(needed), needed.span.line
    indent = indent_of(line)
    if found := re.fullmatch(r"\s*(\w+)\.requires_grad(?:\s*=\s*False|_\(False\))", line):
        new = f"{indent}{found[1]} = {found[1]}.detach()"
        yield Way(f"cut the history instead: `{new.strip()}` on line {number}", "what was computed before learns nothing from here",
                  (Edit(number, "replace", new),))
    elif found := re.search(r"(?:copy\.)?deepcopy\((\w+)\)", line):
        new = line.replace(found[0], f"{found[1]}.detach().clone()")
        yield Way(f"copy the values: `{new.strip()}` on line {number}", "the copy has no history", (Edit(number, "replace", new),))
    elif built is not None and (bound := re.match(r"(\s*)(\w+)\s*=[^=]", story.line(built))):
        leaf = f"{bound[1]}{bound[2]} = {bound[2]}.detach().requires_grad_()"
        yield Way(f"make it a leaf: `{leaf.strip()}` after line {built.span.line}", "it is then what learns, not what it was made of",
                  (Edit(built.span.line, "after", leaf),))


FINDERS: dict[str, Callable[[Story], Iterator[Way]]] = {
    "version": _version, "no_grad": _no_grad, "scalar": _scalar, "grad_shape": _grad_shape, "leaf_inplace": _leaf_inplace,
    "view_inplace": _view_inplace, "not_leaf": _not_leaf,
}
"""By kind of failure, what finds the ways out."""
