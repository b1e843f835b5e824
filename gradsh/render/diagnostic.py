"""Draws a problem: the sentence, the lines of its story with carets under the exact expressions, the ways out."""

from gradsh.render.style import Style, pad, printable, width_of
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span

MAX_LINES = 4  # of one span; a longer one is drawn by its first and last lines
TAB = 4


def draw(problem: Problem, source: Source, style: Style) -> list[str]:
    """Return the lines of a problem's text, in the look of product.md."""
    head = problem.title or problem.message.split("\n", 1)[0]
    first, *rest = head.split("\n")
    out = [f"{style.paint('error', f'error[{problem.kind}]')}: {first}", *rest]
    if not problem.title:
        out += [printable(line) for line in problem.message.rstrip().split("\n")[1:]]
    labels = [label._replace(source=label.source or source) for label in problem.labels]
    out += _places(labels, source, style)
    if problem.title and key_sentence(problem.message) not in problem.title:
        out.append(f"  PyTorch says: {key_sentence(problem.message)}")
    out += [f"  {style.paint('note', 'note')}: {note}" for note in problem.notes]
    out += [f"  {style.paint('help', 'help')}: {text}" for text in problem.help]
    return out


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
        if style.files or len({f.name for f in files} - {main.name}) > 0:
            place = mine[-1].span
            out.append(f"{' ' * (gutter - 1)}{style.paint('dim', '-->')} {printable(file.name)}:{place.line}:{place.column}")
        out += _file_places(_merged(mine), file, gutter, style)
    return out


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
    out = [label for label in out if label.text or not any(_within(span, label.span) for span in told)]
    return sorted(out, key=lambda label: (label.span.line, label.span.column))


def _within(inner: Span, outer: Span) -> bool:
    """Whether a span lies inside another: a wordless mark around one that says something only repeats the line."""
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def _file_places(labels: list[Label], source: Source, gutter: int, style: Style) -> list[str]:
    out: list[str] = []
    shown: int | None = None
    for label in labels:
        for line, start, end, last in _rows(label.span, source):
            if line is None:
                out.append(f"{' ' * gutter} ...")
                continue
            window = _Window(source.line(line), start, end, style.width - gutter - 3)
            if line != shown or window.cropped:
                out.append(f"{str(line).rjust(gutter)} | {window.text}".rstrip())
                shown = line
            carets = " " * window.indent + style.paint(label.role, "^" * window.length)
            words = f" {printable(label.text)}" if last and label.text else ""
            out.append(f"{' ' * gutter} | {carets}{words}")
    return out


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


class _Window:
    """A source line as it is shown: tabs widened, controls pictured, long lines cropped around the marked stretch."""

    def __init__(self, line: str, start: int, end: int, width: int) -> None:
        before, marked, after = line[: start - 1], line[start - 1 : end - 1], line[end - 1 :]
        self.cropped = len(line) > 4 * width
        if self.cropped:
            keep = width // 2
            before = before if len(before) <= keep else "..." + before[len(before) - keep :]
            marked = marked if len(marked) <= keep else marked[:keep]
            after = after if len(after) <= keep else after[:keep] + "..."
        head = _widened(before, 0)
        middle = _widened(marked, width_of(head))
        tail = _widened(after, width_of(head) + width_of(middle))
        self.text = head + middle + tail
        self.indent = width_of(head) if len(line) >= start - 1 else width_of(pad(head, start - 1))
        self.length = max(1, width_of(middle))


def _widened(text: str, column: int) -> str:
    if "\t" not in text:
        return printable(text)
    out = ""
    for char in text:
        out += " " * (TAB - (column + width_of(out)) % TAB) if char == "\t" else printable(char)
    return out
