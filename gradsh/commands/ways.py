"""Ways out of a failure as edits of the script: which of several fits, and what exactly to write.

Works on the problem alone (labelled spans and their sources), since nothing of the graph outlives a failure.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source


class Edit(NamedTuple):
    """A change of one line: `replace` it, or put text `before` or `after` it. The text is indented as it stands."""

    line: int
    how: str
    text: str


class Way(NamedTuple):
    """A way out: what to do, in words, what it costs or when it fits, and the edits that do it (none: only words)."""

    words: str
    fits: str
    edits: tuple[Edit, ...] = ()


def ways_of(problem: Problem, source: Source) -> tuple[Way, ...]:
    """Return the ways out of a problem, the one that fits best first."""
    finder = _FINDERS.get(problem.kind)
    found = list(finder(_Story(problem, source))) if finder is not None else []
    return tuple(found)


def applied(text: str, way: Way) -> str:
    """Return a script's text after the edits of a way."""
    lines = text.split("\n")
    for edit in sorted(way.edits, key=lambda one: (-one.line, one.how != "replace")):
        place = edit.line - 1
        if edit.how == "replace":
            lines[place] = edit.text
        else:
            lines.insert(place + (edit.how == "after"), edit.text)
    return "\n".join(lines)


class _Story:
    """The labels of a problem by role, and the lines they stand on."""

    def __init__(self, problem: Problem, source: Source) -> None:
        self.problem = problem
        self.source = source

    def first(self, role: str) -> Label | None:
        """Return the first label of a role."""
        return next((one for one in self.problem.labels if one.role == role), None)

    def every(self, role: str) -> list[Label]:
        """Return all labels of a role."""
        return [one for one in self.problem.labels if one.role == role]

    def same_source(self, a: Label, b: Label) -> bool:
        """Tell whether two labels stand in one text."""
        return (a.source or self.source) is (b.source or self.source)

    def line(self, label: Label) -> str:
        """Return the whole line on which a label begins."""
        return (label.source or self.source).line(label.span.line)

    def text(self, label: Label) -> str:
        """Return what a label marks, of one line."""
        end = label.span.end_column - 1 if label.span.end_line == label.span.line else None
        return self.line(label)[label.span.column - 1 : end]

    def replaced(self, label: Label, new: str) -> Edit:
        """Return the edit that puts other text in the place of what a label marks."""
        line = self.line(label)
        start, end = label.span.column - 1, label.span.end_column - 1
        return Edit(label.span.line, "replace", line[:start] + new + line[end:])


def indent_of(line: str) -> str:
    """Return the blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def retaining(text: str) -> str | None:
    """Return a backward statement or call that keeps its buffers; None where it cannot be told from the text."""
    text = text.rstrip()
    if text.startswith("backward "):
        return text if "--retain" in text else f"{text} --retain"
    if text.endswith(")") and "retain_graph" not in text and ("backward(" in text or "grad(" in text):
        inside = text[:-1]
        return f"{inside}{'' if inside.endswith('(') else ', '}retain_graph=True)"
    return None


def _freed(story: _Story) -> Iterator[Way]:
    saved, freed, needed = story.first("saved"), story.first("freed"), story.first("needed")
    if freed is None or needed is None:
        return
    again = freed.span == needed.span and story.same_source(freed, needed)
    if again and saved is not None and "pass" in saved.text:
        yield from _carried(story, saved, freed)
    elif again and saved is not None and saved.span.line < freed.span.line:
        yield from _moved_out(story, saved, freed)
    if not again and saved is not None:
        yield from _pinned_trunk(story, saved, freed, needed)
    kept = retaining(story.text(freed))
    if kept is not None:
        cost = "keeps every pass's buffers: the graph grows" if again and saved is not None and "pass" in saved.text else (
            "keeps the buffers of that graph until a pass without it")
        yield Way(f"keep the buffers: `{kept.strip()}` on line {freed.span.line}", cost, (story.replaced(freed, kept),))
    if not again:
        yield from _two_passes(story, saved, freed, needed)


def _carried(story: _Story, saved: Label, freed: Label) -> Iterator[Way]:
    """The state is carried from pass to pass: cut it, where the line says which it is."""
    line = story.line(saved)
    bound = re.match(r"\s*(\w+)\s*=[^=]", line)
    if bound is not None and re.search(rf"\b{bound[1]}\b", line[bound.end() - 1 :]):
        name, target = bound[1], story.line(freed)
        windows = len(indent_of(line)) > len(indent_of(target))  # several steps for each backward
        how, label = ("after", freed) if windows else ("before", saved)
        cut = f"{indent_of(target if windows else line)}{name} = {name}.detach()"
        yield Way(f"cut the history of {name} in each pass: `{cut.strip()}` {how} line {label.span.line}",
                  "the gradient then stops at the beginning of the pass", (Edit(label.span.line, how, cut),))
    else:
        yield Way("cut the history of what is carried into the next pass: `h = h.detach()`",
                  "the gradient then stops at the beginning of the pass")
    name = re.match(r"\s*(?:backward\s+)?(\w+)", story.text(freed))
    if name is not None:
        yield Way(f"add the losses up in the loop, and run one backward after it instead of line {freed.span.line}",
                  "the gradient goes through all passes")


def _moved_out(story: _Story, saved: Label, freed: Label) -> Iterator[Way]:
    """The graph was built before the loop: build it in each pass."""
    line = story.line(saved)
    target = story.line(freed)
    edit = Edit(freed.span.line, "before", indent_of(target) + line.strip())
    simple = indent_of(line) == "" and re.match(r"[\w, ]+=[^=]", line) is not None
    yield Way(f"compute it anew in each pass: move line {saved.span.line} into the loop, before line {freed.span.line}",
              "each pass then has a graph of its own", (edit,) if simple else ())


def _pinned_trunk(story: _Story, saved: Label, freed: Label, needed: Label) -> Iterator[Way]:
    """Two results of one trunk: pin the trunk alone."""
    bound = re.match(r"(\w+)\s*=[^=]", story.line(saved).lstrip())
    first, second = _root(story.text(freed)), _root(story.text(needed))
    if bound is None or not first or not second or len({bound[1], first, second}) < 3:
        return
    indent = indent_of(story.line(freed))
    if indent_of(story.line(saved)) == indent == indent_of(story.line(needed)):
        yield Way(f"pin what both share: `retain {bound[1]}` before line {freed.span.line}, `release {bound[1]}` when it has served",
                  "the rest is freed as usual", (Edit(freed.span.line, "before", f"{indent}retain {bound[1]}"),))


def _two_passes(story: _Story, saved: Label | None, freed: Label, needed: Label) -> Iterator[Way]:
    first, second = _root(story.text(freed)), _root(story.text(needed))
    if first and indent_of(story.line(freed)) == indent_of(story.line(needed)):
        pin = f"{indent_of(story.line(freed))}retain {first}"
        yield Way(f"pin the graph: `retain {first}` before line {freed.span.line}, `release {first}` when it has served",
                  "only what is pinned is kept", (Edit(freed.span.line, "before", pin),))
    if first and second and first != second and _simple(story.text(freed)) and _simple(story.text(needed)):
        edits = (Edit(freed.span.line, "replace", indent_of(story.line(freed)) + "pass"),
                 story.replaced(needed, f"({first} + {second}).backward()"))
        yield Way(f"run one pass for both: `({first} + {second}).backward()` on line {needed.span.line} instead of two",
                  "the gradients add up as they would have", edits)
    if saved is not None and freed.span.line < needed.span.line and re.match(r"\w+\s*=[^=]", story.line(saved)) and (
        second and story.line(saved).startswith(second)
    ):
        yield Way(f"compute it again: repeat line {saved.span.line} before line {needed.span.line}",
                  "costs a forward, holds nothing", (Edit(needed.span.line, "before", story.line(saved)),))


def _root(text: str) -> str:
    """Return the variable that a backward statement starts from, if it is one plain name."""
    found = re.fullmatch(r"backward\s+(\w+)(?:\s+--.*)?|(\w+)\.backward\(.*\)", text.strip())
    return "" if found is None else found[1] or found[2]


def _simple(text: str) -> bool:
    return re.fullmatch(r"backward\s+\w+|\w+\.backward\(\)", text.strip()) is not None


_AUGMENTED = re.compile(r"(\s*)(\w+)\s*(\+|-|\*|/|\*\*|@)=\s*(.+)")
_METHOD = re.compile(r"(\s*)(\w+)\.([a-z]\w*)_\((.*)\)")
_STORED = re.compile(r"(\s*)(\w+)\[.+\]\s*(?:[-+*/]?)=[^=].*")


def _out_of_place(found: re.Match[str]) -> str:
    value = found[4] if re.fullmatch(r"[\w.]+(\(.*\))?", found[4]) else f"({found[4]})"
    return f"{found[1]}{found[2]} = {found[2]} {found[3]} {value}"


def _version(story: _Story) -> Iterator[Way]:
    for label in story.every("modified")[:3]:
        line = story.line(label)
        number = label.span.line
        if found := _AUGMENTED.fullmatch(line):
            new = _out_of_place(found)
        elif found := _METHOD.fullmatch(line):
            new = f"{found[1]}{found[2]} = {found[2]}.{found[3]}({found[4]})"
        elif found := _STORED.fullmatch(line):
            clone = f"{found[1]}{found[2]} = {found[2]}.clone()"
            yield Way(f"write to a copy: `{clone.strip()}` before line {number}", "the saved tensor stays as it was",
                      (Edit(number, "before", clone),))
            continue
        else:
            needed = story.first("needed")
            later = f"run the backward of line {needed.span.line} before line {number}" if needed is not None else ""
            yield Way(later or f"do not write in place on line {number}", "the saved tensor is then used before it changes")
            continue
        yield Way(f"write line {number} out of place: `{new.strip()}`", "the saved tensor stays as it was",
                  (Edit(number, "replace", new),))


def _no_grad(story: _Story) -> Iterator[Way]:
    for label in story.every("built"):
        line, number = story.line(label), label.span.line
        for word in (".detach()", ".data", ".item()"):
            if word in line and "ends" in label.text:
                yield Way(f"leave out `{word}` on line {number}", "the history goes on", (
                    Edit(number, "replace", line.replace(word, "", 1)),))
        text = story.text(label)
        if "needs no gradient" in label.text and text.endswith(")") and "requires_grad" not in text:
            new = f"{text[:-1]}{'' if text.endswith('()') else ', '}requires_grad=True)"
            yield Way(f"ask for a gradient where it is made: `{new}` on line {number}", "for what is to be learnt",
                      (story.replaced(label, new),))


def _scalar(story: _Story) -> Iterator[Way]:
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


def _leaf_inplace(story: _Story) -> Iterator[Way]:
    needed = story.first("needed")
    if needed is None:
        return
    line, number = story.line(needed), needed.span.line
    indent = indent_of(line)
    edits = (Edit(number, "before", f"{indent}with torch.no_grad():"), Edit(number, "replace", f"    {line}"))
    yield Way(f"if it is an update: put line {number} into `with torch.no_grad():`", "autograd does not follow it", edits)
    if found := _AUGMENTED.fullmatch(line):
        new = _out_of_place(found)
        yield Way(f"if it is part of the computation: `{new.strip()}`", f"{found[2]} is then no leaf any more",
                  (Edit(number, "replace", new),))


_FINDERS: dict[str, Callable[[_Story], Iterator[Way]]] = {
    "freed": _freed, "version": _version, "no_grad": _no_grad, "scalar": _scalar, "leaf_inplace": _leaf_inplace,
}
