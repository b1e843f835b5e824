"""A fix of a failure as data: what to do, in words, the edits that do it, and what they cost."""

from gradsh.text.tuples import NamedTuple


class Edit(NamedTuple):
    """A change of one line: `replace` it, or put text `before` or `after` it. The text is indented as it stands.

    `file` names the source of the line; an empty text that replaces a line takes what stood there away.
    """

    line: int
    how: str
    text: str
    file: str = ""


class Fix(NamedTuple):
    """A way out of a failure: the words, what it costs or changes, and the edits (none: advice in words only).

    `tried`: the edits were applied to a copy of the program, and the error was gone. `effect` tells what becomes of the
    gradients where they are not those that the failing pass asked for. `changes` is what it tells in that case; a fix
    without it that changes gradients is not offered. `here`: it needs a command of gradsh's own. `guess`: it is not shown
    before it was tried. `last`: it is tried where no other fix works.
    """

    words: str
    effect: str = ""
    edits: tuple[Edit, ...] = ()
    tried: bool = False
    changes: str = ""
    here: bool = False
    guess: bool = False
    last: bool = False

    def line(self) -> str:
        """Return the words with what they cost, as a line of help."""
        return f"{self.words} ({self.effect})" if self.effect else self.words


def applied(lines: list[str], edits: tuple[Edit, ...], first_line: int = 1) -> tuple[list[str], list[int]]:
    """Return the lines after the edits, and for each of them the number of the line that it was or stands at."""
    rows = [(line, number) for number, line in enumerate(lines, first_line)]
    for edit in sorted(edits, key=lambda one: (-one.line, one.how != "replace", one.how != "after")):
        place = edit.line - first_line
        new = [] if edit.how == "replace" and not edit.text else [(text, edit.line) for text in edit.text.split("\n")]
        if edit.how == "replace":
            rows[place : place + 1] = new
        else:
            place += edit.how == "after"
            rows[place:place] = new
    return [text for text, _ in rows], [number for _, number in rows]


def difference(lines: list[str], edits: tuple[Edit, ...], first_line: int = 1) -> tuple[str, ...]:
    """Return what edits change as the lines of a diff, each with its number: `- 4 | z.backward()`."""
    shown: list[str] = []
    inside = [edit for edit in edits if 0 <= edit.line - first_line < len(lines)]
    for edit in sorted(inside, key=lambda one: (one.line, ("before", "replace", "after").index(one.how))):
        if edit.how == "replace":
            shown.append(f"- {edit.line} | {lines[edit.line - first_line]}")
        if edit.text or edit.how != "replace":
            shown += [f"+ {edit.line} | {text}" for text in edit.text.split("\n")]
    return tuple(shown)
