"""How problems look: carets under the exact expression, labels in line order, nothing that steers the terminal."""

from gradsh.render.diagnostic import draw
from gradsh.render.style import Style
from gradsh.text.problem import Label, Problem
from gradsh.text.span import Source, Span

PLAIN = Style()


def drawn(text: str, *labels: tuple[str, Span, str], style: Style = PLAIN, **fields: object) -> list[str]:
    problem = Problem("freed", "message", tuple(Label(*label) for label in labels), **fields)  # type: ignore[arg-type]
    return draw(problem, Source("s", text), style)


def test_the_look_of_the_contract() -> None:
    text = "x\ny\nz = y.pow(2).mean()\n\n\nbackward z\nbackward z"
    problem = Problem(
        "freed", "Trying to backward through the graph a second time (or so). More words.",
        (Label("needed", Span(7, 1, 7, 11), "needed again here"), Label("saved", Span(3, 5, 3, 13), "saved here"),
         Label("freed", Span(6, 1, 6, 11), "freed here")),
        ("keep it",), ("it ran 1 node",), "backward needs PowBackward0.self",
    )
    assert draw(problem, Source("s", text), PLAIN) == [
        "error[freed]: backward needs PowBackward0.self",
        "  3 | z = y.pow(2).mean()",
        "    |     ^^^^^^^^ saved here",
        "  6 | backward z",
        "    | ^^^^^^^^^^ freed here",
        "  7 | backward z",
        "    | ^^^^^^^^^^ needed again here",
        "  PyTorch says: Trying to backward through the graph a second time (or so).",
        "  note: it ran 1 node",
        "  help: keep it",
    ]


def test_labels_on_one_line_share_it() -> None:
    assert drawn("a + b", ("operand", Span(1, 5, 1, 6), "(3,)"), ("operand", Span(1, 1, 1, 2), "(2,)"))[1:] == [
        "  1 | a + b", "    | ^ (2,)", "    |     ^ (3,)",
    ]


def test_labels_of_one_place_are_joined() -> None:
    place = Span(1, 1, 1, 2)
    assert drawn("a", ("freed", place, "freed here"), ("needed", place, "needed here"))[2] == (
        "    | ^ freed here; needed here")


def test_tabs_and_wide_characters() -> None:
    assert drawn("\tx = 界 + y", ("needed", Span(1, 10, 1, 11), "here"))[1:] == [
        "  1 |     x = 界 + y", "    |              ^ here",
    ]
    assert drawn("e\u0301 = y", ("needed", Span(1, 6, 1, 7), ""))[2] == "    |     ^"


def test_several_lines() -> None:
    text = "f(\n    a,\n    b)"
    assert drawn(text, ("needed", Span(1, 1, 3, 7), "here"))[1:] == [
        "  1 | f(", "    | ^^", "  2 |     a,", "    |     ^^", "  3 |     b)", "    |     ^^ here",
    ]


def test_many_lines_are_elided() -> None:
    text = "\n".join(["f(", *["    a,"] * 50, ")"])
    lines = drawn(text, ("needed", Span(1, 1, 52, 2), "here"))
    assert lines[1:] == ["   1 | f(", "     | ^^", "     ...", "  52 | )", "     | ^ here"]


def test_long_lines_are_cropped() -> None:
    lines = drawn("a" * 5000 + "+" + "b" * 5000, ("needed", Span(1, 5001, 1, 5002), "here"))
    assert max(map(len, lines)) < 150
    assert lines[1][lines[2].index("^")] == "+"


def test_controls_are_pictured() -> None:
    text = "\n".join(drawn("x = '\x1b[31m'\x07", ("needed", Span(1, 1, 1, 2), "\x1b]0;title")))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "␛[31m" in text


def test_a_span_beyond_the_line_still_points() -> None:
    assert drawn("ab", ("needed", Span(1, 3, 1, 4), "more"))[1:] == ["  1 | ab", "    |   ^ more"]
    assert drawn("", ("needed", Span(5, 2, 5, 3), "gone"))[1:] == ["  5 |", "    |  ^ gone"]


def test_other_sources_are_named() -> None:
    other = Source("lib.grad", "def f():\n    g")
    problem = Problem("name", "m", (Label("needed", Span(2, 5, 2, 6), "", other), Label("called", Span(1, 1, 1, 4), "")))
    assert draw(problem, Source("main.grad", "f()"), PLAIN) == [
        "error[name]: m", "  --> lib.grad:2:5", "  2 |     g", "    |     ^", "  --> main.grad:1:1", "  1 | f()",
        "    | ^^^",
    ]


def test_colours_only_where_wanted() -> None:
    labels = (("needed", Span(1, 1, 1, 2), "here"),)
    assert "\x1b" not in "".join(drawn("a", *labels))
    coloured = drawn("a", *labels, style=Style(colour=True))
    assert coloured[0].startswith("\x1b[1;31merror[freed]\x1b[0m: ")
