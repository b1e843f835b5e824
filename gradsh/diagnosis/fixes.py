"""Ways out of a failure as edits of the script: which of several fits, and what exactly to write.

Works on the problem alone (labelled spans and their sources), since nothing of the graph outlives a failure. This file has
the ways to a buffer that was freed; `ways_rewritten` has those that write a line differently.
"""

import re
from collections.abc import Iterator

from gradsh.diagnosis.fix import Edit, Story, Way, indent_of, without_comment
from gradsh.diagnosis.fixes_rewritten import FINDERS
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source


def ways_of(problem: Problem, source: Source) -> tuple[Way, ...]:
    """Return the ways out of a problem, the one that fits best first."""
    story = Story(problem, source)
    if problem.kind == "freed":
        return tuple(_freed(story))
    finder = FINDERS.get(problem.kind)
    return tuple(finder(story)) if finder is not None else ()


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


def retaining(text: str) -> str | None:
    """Return a backward statement or call that keeps its buffers; None where it cannot be told from the text."""
    text = text.rstrip()
    if text.startswith("backward "):
        return text if "--retain" in text else f"{text} --retain"
    if text.endswith(")") and "retain_graph" not in text and ("backward(" in text or "grad(" in text):
        inside = text[:-1]
        return f"{inside}{'' if inside.endswith('(') else ', '}retain_graph=True)"
    return None


def _freed(story: Story) -> Iterator[Way]:
    saved, freed, needed = story.first("saved"), story.first("freed"), story.first("needed")
    if freed is None or needed is None:
        return
    again = freed.span == needed.span and story.same_source(freed, needed)
    if again and saved is not None and "pass" in saved.text:
        yield from _carried(story, saved, freed)
    elif again and saved is not None and saved.span.line < freed.span.line:
        yield from _moved_out(story, saved, freed)
    if not again:
        yield from _pinned_trunk(story, freed, needed)
    kept = retaining(story.text(freed))
    if kept is not None:
        cost = "keeps every pass's buffers: the graph grows" if again and saved is not None and "pass" in saved.text else (
            "keeps the buffers of that graph until a pass without it")
        yield Way(f"keep the buffers: `{kept.strip()}` on line {freed.span.line}", cost, (story.replaced(freed, kept),))
    if not again:
        yield from _two_passes(story, saved, freed, needed)


def _carried(story: Story, saved: Label, freed: Label) -> Iterator[Way]:
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


def _moved_out(story: Story, saved: Label, freed: Label) -> Iterator[Way]:
    """The graph was built before the loop: build it in each pass."""
    line = story.line(saved)
    target = story.line(freed)
    edit = Edit(freed.span.line, "before", indent_of(target) + line.strip())
    simple = indent_of(line) == "" and re.match(r"[\w, ]+=[^=]", line) is not None
    yield Way(f"compute it anew in each pass: move line {saved.span.line} into the loop, before line {freed.span.line}",
              "each pass then has a graph of its own", (edit,) if simple else ())


def _pinned_trunk(story: Story, freed: Label, needed: Label) -> Iterator[Way]:
    """Two results of one trunk: pin the trunk alone. Which it is, the story found in the graph."""
    told = re.search(r"what both share with `retain ([\w ]+)`", " ".join(story.problem.help))
    if told is None:
        return
    indent = indent_of(story.line(freed))
    if indent == indent_of(story.line(needed)):
        yield Way(f"pin what both share: `retain {told[1]}` before line {freed.span.line}, `release {told[1]}` when it has served",
                  "the rest is freed as usual", (Edit(freed.span.line, "before", f"{indent}retain {told[1]}"),))
    if len(told[1].split()) == 1:
        yield from _cut_off_first(story, told[1], freed)


def _cut_off_first(story: Story, name: str, freed: Label) -> Iterator[Way]:
    """The first backward may not be meant for what made the shared tensor, as a discriminator's is not for the generator."""
    saved = story.first("saved")
    if saved is None or not story.same_source(saved, freed):
        return
    source = freed.source or story.source
    handed = re.compile(rf"(\b(?!torch\b|F\b)[A-Za-z_][\w.]*\([^()]*(?<![\w.])){name}\b(?=\s*[,)])")
    needed = {_root(story.text(freed))}
    edits: list[Edit] = []
    for number in range(freed.span.line - 1, saved.span.line, -1):  # what the first backward starts from, line by line back
        line = without_comment(source.line(number))
        bound = re.match(r"\s*(\w+)\s*[-+*/]?=[^=]", line)
        if bound is None or bound[1] not in needed:
            continue
        needed.update(re.findall(r"[A-Za-z_]\w*", line[bound.end() - 1 :]))
        cut = handed.sub(rf"\1{name}.detach()", line)
        if cut != line:
            edits.insert(0, Edit(number, "replace", cut))
    if edits:
        lines = " and ".join(str(edit.line) for edit in edits)
        yield Way(f"cut it off for the first backward: `{name}.detach()` on line {lines}",
                  f"line {freed.span.line} then gives what made {name} no gradient, as in a discriminator's step", tuple(edits))


def _two_passes(story: Story, saved: Label | None, freed: Label, needed: Label) -> Iterator[Way]:
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
