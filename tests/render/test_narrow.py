"""Tables on a terminal that is narrower than they are."""

from gradsh.render.style import Style
from gradsh.render.text import lines_of
from gradsh.view.shapes import Column, Row, Table


def test_a_narrow_terminal_gets_wide_tables_row_by_row() -> None:
    table = Table(
        (Column("name"), Column("shape", "shape"), Column("bytes", "bytes"), Column("made by")),
        (Row(("weights", (2, 3), 24, "AddmmBackward0")), Row(("bias", (3,), 12, ""))),
    )
    narrow = lines_of(table, Style(width=36))
    assert narrow == ["weights", "  shape (2, 3)  bytes 24 B", "  made by AddmmBackward0", "bias", "  shape (3,)  bytes 12 B"]
    assert all(len(line) <= 36 for line in narrow)
    assert len(lines_of(table, Style(width=60))) == 3
