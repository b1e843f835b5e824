"""What is shown on terminals of 40 to 200 columns: no line is wider, and carets stand under what they mark."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradsh.commands import USAGE, find
from gradsh.contracts.events import Failure, Note, Result, Value, Warn
from gradsh.render.diagnostic import draw
from gradsh.render.style import Style, width_of
from gradsh.render.text import event_text, lines_of
from gradsh.render.wrap import wrap
from gradsh.session.session import Session
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span
from gradsh.view.shapes import Column, Dag, DagNode, Edge, Mark, Row, Table
from tests.sweep import draws

WIDTHS = (40, 60, 80, 120, 200)
LETTERS = "abcxyz_ .,()+-=αßé中文字e\u0301\u0300\t😀"


def columns(text: str, start: int, end: int) -> str:
    """What stands in some columns of a line on the screen."""
    out, column = "", 0
    for char in text:
        width = width_of(char)
        out += char if width and start <= column < end else ""
        column += width
    return out


def letters(text: str) -> str:
    """What of a text takes room on a screen, but blanks."""
    return "".join(char for char in text if width_of(char) and not char.isspace())


@settings(max_examples=draws(150), deadline=None)
@given(st.text(LETTERS, min_size=1, max_size=400), st.data(), st.integers(40, 200), st.booleans())
def test_carets_stand_under_what_they_mark(line: str, data: st.DataObject, width: int, ascii: bool) -> None:
    start = data.draw(st.integers(1, len(line)))
    end = data.draw(st.integers(start + 1, min(len(line) + 1, start + 12)))
    label = Label("needed", Span(7, start, 7, end), "what is said of it, in a few words")
    shown = draw(Problem("value", "m", (label,)), Source("s", line, 7), Style(ascii=ascii, width=width))[1:]
    assert all(width_of(one) <= width for one in shown)
    place = re.search(r"\^+", shown[1])
    assert place is not None
    span = letters(line[start - 1 : end - 1])
    assert not span or letters(columns(shown[0], *place.span())) == span


def test_a_long_line_is_clipped_around_what_is_marked() -> None:
    line = "loss = criterion(model(inputs.reshape(-1, 28 * 28)), labels.long()) + penalty(model.parameters()) * 0.5"
    start = line.index("labels") + 1
    label = Label("needed", Span(1, start, 1, start + len("labels.long()")), "here")
    shown = draw(Problem("value", "m", (label,)), Source("s", line), Style(width=40))[1:]
    assert shown == ["  1 | … 28 * 28)), labels.long()) + pen…", "    |              ^^^^^^^^^^^^^ here"]


def test_sentences_wrap_with_their_indent_and_keep_code_whole() -> None:
    sentence = "a sentence that has more words than a line has room for"
    problem = Problem("value", sentence, (), ("take `backward z --retain` here",), ("so it is, and not otherwise",))
    assert draw(problem, Source("s", ""), Style(width=40)) == [
        "error[value]: a sentence that has more", "  words than a line has room for", "  note: so it is, and not otherwise",
        "  help: take `backward z --retain` here",
    ]
    assert draw(problem, Source("s", ""), Style(width=32))[-3:] == ["  help: take", "        `backward z --retain`", "        here"]


@given(st.text("ab `.中\u0301", max_size=200), st.integers(24, 100))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert wrap(text, None) == [text]


def test_a_narrow_terminal_gets_wide_tables_row_by_row() -> None:
    table = Table(
        (Column("name"), Column("shape", "shape"), Column("bytes", "bytes"), Column("made by")),
        (Row(("weights", (2, 3), 24, "AddmmBackward0")), Row(("bias", (3,), 12, ""))),
    )
    narrow = lines_of(table, Style(width=36))
    assert narrow == ["weights", "  shape (2, 3)  bytes 24 B", "  made by AddmmBackward0", "bias", "  shape (3,)  bytes 12 B"]
    assert len(lines_of(table, Style(width=60))) == 3


def test_a_table_loses_empty_columns_and_folds_long_cells_before_that() -> None:
    rows = (Row(("x", "", ("one", "two", "three"))), Row(("y", None, ())))
    table = Table((Column("a"), Column("nothing"), Column("names", "names")), rows)
    assert lines_of(table, Style())[0] == "a  nothing  names"
    assert lines_of(table, Style(width=24))[:2] == ["a  names", "x  one, two, three"]
    assert lines_of(table, Style(width=16)) == ["a  names", "x  one, two,", "   three", "y"]


def chain(length: int, side: bool) -> Dag:
    """A chain of nodes, with a leaf at each where `side`."""
    nodes = [DagNode(f"Mul{i}", (), (2,), (Mark("live", "self 8 B"),), i) for i in range(length)]
    leaf = length if side else length - 1
    edges = [edge for i in range(length - 1) for edge in ([Edge(i, i + 1), Edge(i, leaf)] if side else [Edge(i, i + 1)])]
    return Dag((*nodes, DagNode("AccumulateGrad", ("w",), (2,))), tuple(edges), (0,))


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("width", [None, *WIDTHS])
def test_deep_chains_run_straight_down(side: bool, width: int | None) -> None:
    lines = lines_of(chain(200, side), Style(width=width))
    indents = [re.search(r"\w", line).start() for line in lines if "Mul" in line]  # type: ignore[union-attr]
    assert len(indents) == 200
    assert max(indents) <= 21
    assert len(set(indents[20:])) == 1
    assert all(width_of(line) <= (width or 80) for line in lines)


def test_blocks_with_a_way_around_stay_narrow_and_each_node_is_drawn_once() -> None:
    edges = [edge for i in range(0, 90, 3) for edge in (Edge(i, i + 3), Edge(i, i + 1), Edge(i + 1, i + 2), Edge(i + 2, i + 3))]
    lines = lines_of(Dag(tuple(DagNode(f"N{i}.") for i in range(91)), tuple(edges), (0,)), Style())
    drawn = [line for line in lines if "drawn" not in line]
    assert [sum(f"N{i}." in line for line in drawn) for i in range(91)] == [1] * 91
    assert max(map(len, lines)) < 70


@pytest.mark.parametrize("name", sorted(USAGE))
def test_no_command_shows_a_line_wider_than_the_terminal(name: str) -> None:
    events: list = []
    for example in find(name).examples:
        Session().run(example, events.append, keep_going=True)
    for width in WIDTHS:
        for event in events:
            if getattr(event, "format", "") in {"", "text"} and isinstance(event, Result | Warn | Note | Failure | Value):
                shown = event_text(event, Style(width=width))
                lines = shown[1].splitlines() if shown else []
                assert [line for line in lines if width_of(line) > width] == []
