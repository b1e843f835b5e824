"""Draws a problem: the sentence, the lines of its story with carets under the exact expressions, the ways out."""

from gradsh.render.style import Style, printable, width_of
from gradsh.render.window import window
from gradsh.render.wrap import clipped, wrap
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span

MAX_LINES = 4  # of one span; a longer one is drawn by its first and last lines
LEAST = 24  # columns that words behind carets need; where there are fewer, they stand below


def draw(problem: Problem, source: Source, style: Style) -> list[str]:
    """Return the lines of a problem's text, in the look of product.md."""
    head = problem.title or problem.message.split("\n", 1)[0]
    first, *rest = head.split("\n")
    out = _told("error", f"error[{problem.kind}]", first, style, 0, 2)
    out += [part for line in rest for part in wrap(line, style.width)]
    if not problem.title:
        lines = problem.message.rstrip().split("\n")[1:]
        out += [part for line in lines for part in wrap(printable(line), style.width)]
    labels = [label._replace(source=label.source or source) for label in problem.labels]
    out += _places(labels, source, style)
    if problem.title and key_sentence(problem.message) not in problem.title:
        out += wrap(f"  PyTorch says: {key_sentence(problem.message)}", style.width, 4)
    for role, texts in (("note", problem.notes), ("help", problem.help)):
        out += [line for text in texts for line in _told(role, role, text, style)]
    return out


def _told(role: str, word: str, text: str, style: Style, indent: int = 2, hang: int = 8) -> list[str]:
    """Return a sentence behind the word that says what it is, in its colour."""
    first, *more = wrap(text, style.width, hang, indent + len(word) + 2)
    return [f"{' ' * indent}{style.paint(role, word)}: {first}", *more]


def key_sentence(message: str) -> str:
    """Return the first sentence of PyTorch's message: the one that people search for."""
    first = message.strip().split("\n", 1)[0]
    end = first.find(". ")
    return first if end < 0 else first[: end + 1]


def _places(labels: list[Label], main: Source, style: Style) -> list[str]:
    """The marked lines, file by file in the order of first mention, in line order.

    The running file comes last. What was typed is one file, although each input has a source of its own.
    """
    files: list[Source] = []
    for label in labels:
        if label.source is not None and label.source not in files:
            files.append(label.source)
    files.sort(key=lambda file: (1, file.first_line) if file.name == main.name else (0, 0))
    gutter = max((len(str(label.span.end_line)) for label in labels), default=1) + 2
    out = []
    for file in files:
        mine = [label for label in labels if label.source is file]
        if style.file or len({f.name for f in files} - {main.name}) > 0:
            out.append(place_line(file.name, mine[-1].span, style, gutter))
        out += _file_places(_merged(mine), file, gutter, style)
    return out


def place_line(name: str, span: Span, style: Style, gutter: int = 3) -> str:
    """Return the line that names a place: file, line and column."""
    where = clipped(f"{printable(name)}:{span.line}:{span.column}", style, gutter + 3)
    return f"{' ' * (gutter - 1)}{style.paint('dim', '-->')} {style.link(where, name)}"


def _merged(labels: list[Label]) -> list[Label]:
    """Labels in line order; those of one span become one, with their words joined."""
    groups: dict[Span, list[Label]] = {}
    for label in labels:
        groups.setdefault(label.span, []).append(label)
    out = []
    for same in groups.values():
        words = list(dict.fromkeys(label.text for label in same if label.text))
        out.append(same[-1]._replace(text="; ".join(words)))
    told = [label.span for label in out if label.text]
    # a wordless mark around one that says something only repeats the line
    out = [label for label in out if label.text or not any(label.span.covers(span) for span in told)]
    return sorted(out, key=lambda label: (label.span.line, label.span.column))


def _file_places(labels: list[Label], source: Source, gutter: int, style: Style) -> list[str]:
    out: list[str] = []
    room = None if style.width is None else style.width - gutter - 3
    number, shown = 0, None
    for label in labels:
        for line, start, end, last in _rows(label.span, source):
            if line is None:
                out.append(f"{' ' * gutter} ...")
                continue
            if shown is None or line != number or not shown.holds(start, end):
                number, shown = line, window(source.line(line), start, end, style, room)
                out.append(f"{str(line).rjust(gutter)} | {shown.text}".rstrip())
            words = label.text if last else ""
            out += [f"{' ' * gutter} | {one}" for one in _carets(shown.mark(start, end), label.role, words, style, room)]
    return out


def _carets(mark: tuple[int, int], role: str, words: str, style: Style, room: int | None) -> list[str]:
    """Return the line of carets, with what is said of the place behind it, or below where there is no room for it."""
    indent, length = mark
    carets = " " * indent + style.paint(role, "^" * length)
    if not words:
        return [carets]
    words, behind = printable(words), indent + length + 1
    if room is None or behind + width_of(words) <= room:
        return [f"{carets} {words}"]
    if room - behind >= LEAST:
        first, *more = wrap(words, room, behind, behind)
        return [f"{carets} {first}", *more]
    left = max(0, min(indent, room - min(LEAST, width_of(words))))
    return [carets, *wrap(" " * left + words, room, left)]


def _rows(span: Span, source: Source) -> list[tuple[int | None, int, int, bool]]:
    """The stretches (line, start, end, whether the last) that a span covers; None stands for lines left out."""
    if span.end_line <= span.line:
        return [(span.line, span.column, span.end_column, True)]
    rows: list[tuple[int | None, int, int, bool]] = []
    for number in range(span.line, span.end_line + 1):
        text = source.line(number)
        start = span.column if number == span.line else len(text) - len(text.lstrip()) + 1
        end = span.end_column if number == span.end_line else len(text.rstrip()) + 1
        if end > start:
            rows.append((number, start, end, number == span.end_line))
    if not rows:
        return [(span.line, span.column, span.column + 1, True)]
    rows[-1] = (*rows[-1][:3], True)
    return rows if len(rows) <= MAX_LINES else [rows[0], (None, 0, 0, False), rows[-1]]
