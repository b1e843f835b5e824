"""Events as text: what goes to standard output, what to standard error, and views as lines."""

import re
from typing import Literal, assert_never

from gradsh.contracts.events import Done, ErrorOutput, Event, Failure, Note, Print, Result, Snapshot, Value, Warn
from gradsh.render.style import Style, printable
from gradsh.render.wrap import wrap
from gradsh.text.fault import fail
from gradsh.text.line import file_of
from gradsh.text.span import Span
from gradsh.view.shapes import Chart, Dag, Diagnostic, Group, Lines, Table, TensorView, View

Stream = Literal["out", "err"]


def event_text(event: Event, style: Style) -> tuple[Stream, str] | None:
    """Return (stream, text with its line ends) for an event, or None for one that is not shown."""
    match event:
        case Print(text=text, newline=newline):
            text = _wrapped(text, style) if event.told else text
            return "out", text + "\n" if newline else text
        case ErrorOutput(text=text):
            return "err", text
        case Value(text=text):
            return "out", value_text(text, style) + "\n"
        case Result():
            return _result_text(event, style)
        case Warn(line=line, message=message):
            place = f" (line {line})" if line and not style.file else ""
            told = wrap(f"{message}{place}", style.width, 2, len("warning: "))
            if line and style.file:
                from gradsh.render.diagnostic import place_line

                told.append(place_line(file_of(line) or style.file, Span(int(line), 1, int(line), 1), style))
            return "err", style.paint("warning", "warning") + ": " + "\n".join(told) + "\n"
        case Note(text=text):
            return "err", style.paint("dim", _wrapped(text.replace("µ", "u") if style.ascii else text, style)) + "\n"
        case Failure(problem=problem, source=source):
            from gradsh.render.diagnostic import draw

            return "err", "".join(line + "\n" for line in draw(problem, source, style))
        case Done() | Snapshot():
            return None
        case _:
            assert_never(event)


def _wrapped(text: str, style: Style) -> str:
    """Return a text with its lines wrapped to the terminal, where there is one."""
    return text if style.width is None else "\n".join(part for line in text.split("\n") for part in wrap(line, style.width))


def _line(text: str, fill: int, style: Style) -> list[str]:
    """Return a line in as many as it takes; prose (see `DagLines`) without an indent."""
    if fill and text[:1] not in {"", " "}:
        return wrap(text, fill if style.width is None else min(fill, style.width), 0)
    return wrap(text, style.width)


_LONGEST = 200_000
"""Characters of a value that are wrapped."""
_OPENING = re.compile(r"\s*(?:\w+\()?[\[({]*")


def value_text(text: str, style: Style) -> str:
    """Return a value's repr; on a terminal with the rows of tensors and lists wrapped within their brackets, but no string."""
    if style.width is None or text[:1] in {"'", '"'} or len(text) > _LONGEST:
        return text
    lines = [wrap(line, style.width, _OPENING.match(line).end()) for line in text.split("\n")]  # type: ignore[union-attr]
    return "\n".join(part for parts in lines for part in parts)


def _result_text(result: Result, style: Style) -> tuple[Stream, str] | None:
    if result.output:
        return None
    text = result_text(result, style)
    return ("out", text) if text else None


def result_text(result: Result, style: Style) -> str:
    """Return a command's result in the format that was asked for, with its line ends."""
    if result.format == "json":
        import json

        from gradsh.render.json import plain

        return json.dumps(plain(result.report)) + "\n"
    view = result.view()
    if result.format not in {"", "text"}:
        drawn = _picture(view, result.format)
        if isinstance(drawn, bytes):
            raise fail("value", f"{result.format} is not text: name a file with --output", ValueError)
        return drawn
    text = "".join(line + "\n" for line in lines_of(view, style))
    return text.translate(_PLAIN) if style.ascii else text


_PLAIN = str.maketrans({
    "×": "x", "–": "-", "…": "...", "µ": "u", "±": "+-", "●": "*", "│": "|", "─": "-", **dict.fromkeys("┐┌┤├┼", "+"),
})
"""ASCII stand-ins for the signs that views write."""


def result_bytes(result: Result, style: Style) -> bytes:
    """Return a command's result as the content of a file."""
    if result.format in {"", "text", "json"}:
        return result_text(result, style).encode()
    drawn = _picture(result.view(), result.format)
    return drawn if isinstance(drawn, bytes) else drawn.encode()


def _picture(view: View, kind: str) -> str | bytes:
    from gradsh.render.pictures import picture

    return picture(view, kind)


def lines_of(view: View, style: Style) -> list[str]:
    """Return a view as lines of text."""
    match view:
        case Lines(lines=lines, fill=fill):
            return [part for line in lines for one in line.split("\n") for part in _line(printable(one), fill, style)]
        case Table():
            from gradsh.render import table

            return table.draw(view, style)
        case Dag():
            from gradsh.render import dag

            return dag.draw(view, style)
        case Chart():
            from gradsh.render import chart

            return chart.draw(view, style)
        case TensorView(text=text):
            return value_text(text, style).split("\n")
        case Diagnostic(problem=problem, source=source):
            from gradsh.render import diagnostic

            return diagnostic.draw(problem, source, style)
        case Group(parts=parts):
            return [line for part in parts for line in lines_of(part, style)]
        case _:
            assert_never(view)
