"""How tables and graphs look, in the terminal and for other programs."""

import pytest

from gradsh.contracts.events import Print, Result, Value
from gradsh.render.json import line_of, plain
from gradsh.render.pictures import dot, mermaid
from gradsh.render.style import Style
from gradsh.render.text import event_text, lines_of, result_text
from gradsh.session.session import Session
from gradsh.view.shapes import Column, Dag, DagNode, Edge, Group, Lines, Mark, Row, Table, TensorView

PLAIN = Style()
ASCII = Style(ascii=True)

DIAMOND = Dag(
    (
        DagNode("AddBackward0", ("z",), (), (), 3),
        DagNode("MulBackward0", (), (2,), (Mark("live", "self 8 B"), Mark("freed", "other")), 2),
        DagNode("ExpBackward0", ("y",), (2,), (Mark("pinned", "result"),), 1),
        DagNode("AccumulateGrad", ("x",), (2,)),
    ),
    (Edge(0, 1), Edge(0, 2), Edge(1, 2), Edge(1, 3), Edge(2, 3)),
    (0,),
)


def test_table() -> None:
    table = Table(
        (Column("name"), Column("bytes", "bytes"), Column("shape", "shape"), Column("line", "line")),
        (Row(("x", 1024, (2, 3), 1)), Row(("longer", None, (), None), "freed")), ("in all 1,024 B",), 7, "--all",
    )
    assert lines_of(table, PLAIN) == [
        "name      bytes  shape   line", "x       1,024 B  (2, 3)  line 1", "longer           ()",
        "… 7 more rows; --all", "in all 1,024 B",
    ]
    assert lines_of(table, ASCII)[3].startswith("... 7")
    assert lines_of(Table((Column("a"),), (), empty="nothing is saved"), PLAIN) == ["nothing is saved"]


def test_shared_nodes_are_drawn_once() -> None:
    assert lines_of(DIAMOND, PLAIN) == [
        "z  AddBackward0 ()                      line 3",
        "├─ MulBackward0 (2,)        ● self 8 B  line 2",
        "│  │                        ○ other",
        "│  ├─ y  ExpBackward0 (2,)  ◆ result    line 1",
        "│  │  └─ x  AccumulateGrad (2,)",
        "│  └─ x  AccumulateGrad ↑ drawn above",
        "└─ y  ExpBackward0 ↑ drawn above",
    ]


def test_edges_side_by_side_to_one_node_are_counted() -> None:
    stack = Dag((DagNode("StackBackward0"), DagNode("AccumulateGrad", ("w",)), DagNode("MulBackward0")),
                (Edge(0, 1), Edge(0, 1), Edge(0, 1), Edge(0, 2), Edge(2, 1), Edge(0, 1)), (0,))
    assert lines_of(stack, PLAIN) == [
        "StackBackward0",
        "├─ w  AccumulateGrad",
        "├─ w  AccumulateGrad ↑ drawn above, 2 edges",
        "├─ MulBackward0",
        "│  └─ w  AccumulateGrad ↑ drawn above",
        "└─ w  AccumulateGrad ↑ drawn above",
    ]
    last = Dag(stack.nodes, (Edge(0, 1), Edge(0, 1), Edge(0, 1)), (0,))
    assert lines_of(last, PLAIN)[-1] == "└─ w  AccumulateGrad ↑ drawn above, 2 edges"


def test_graph_in_ascii() -> None:
    assert all(line.isascii() for line in lines_of(DIAMOND, ASCII))
    assert lines_of(DIAMOND, ASCII)[1].startswith("|- MulBackward0 (2,)")


def test_long_chains_stay_on_the_screen_and_do_not_recurse() -> None:
    count = 5000
    chain = Dag(tuple(DagNode(f"N{i}") for i in range(count)), tuple(Edge(i, i + 1) for i in range(count - 1)), (0,))
    lines = lines_of(chain, PLAIN)
    assert len(lines) == count
    assert max(map(len, lines)) < 60


def test_what_is_left_out_is_a_stub_in_every_format() -> None:
    stub = DagNode("… 2 more nodes below", stub=True)
    dag = Dag((*DIAMOND.nodes[:2], stub, stub), (Edge(0, 1), Edge(0, 2), Edge(1, 3)), (0,), more="graph --depth 9 shows more")
    lines = lines_of(dag, PLAIN)
    assert lines[-3:] == ["│  └─ … 2 more nodes below", "└─ … 2 more nodes below", "graph --depth 9 shows more"]
    assert 'n3 [label="… 2 more nodes below", style=dashed];' in dot(dag)
    assert 'n3(["… 2 more nodes below"])' in mermaid(dag)


def test_dot_and_mermaid() -> None:
    assert 'n0 [label="z\\nAddBackward0 ()\\nline 3"];' in dot(DIAMOND)
    assert dot(DIAMOND).count("->") == 5
    assert mermaid(DIAMOND).count("-->") == 5
    odd = Dag((DagNode('a"b\\'),), (), (0,))
    assert '[label="a\\"b\\\\"]' in dot(odd)
    assert '["a#quot;b\\"]' in mermaid(odd)


def test_group_and_tensor() -> None:
    assert lines_of(Group((Lines(("a",)), TensorView("b\nc"))), PLAIN) == ["a", "b", "c"]


def test_result_formats() -> None:
    result = Result(3, "graph", {"nodes": (1, float("nan"))}, lambda: DIAMOND)
    assert result_text(result, PLAIN).startswith("z  AddBackward0 ()")
    assert result_text(result._replace(format="json"), PLAIN) == '{"nodes": [1, "nan"]}\n'
    assert result_text(result._replace(format="dot"), PLAIN).startswith("digraph")
    with pytest.raises(ValueError, match="nothing to draw"):
        result_text(result._replace(format="dot", view=lambda: Lines(())), PLAIN)


def test_json_events() -> None:
    assert line_of(Print("a\né")) == '{"event": "print", "text": "a\\n\\u00e9"}'
    assert line_of(Value(2, "x"), "f.grad") == '{"event": "value", "line": 2, "text": "x", "file": "f.grad"}'


@pytest.mark.parametrize(("value", "expected"), [
    (float("inf"), "inf"), (float("-inf"), "-inf"), (0.1, 0.1), (True, True), ((1, [2]), [1, [2]]), ({"a": None}, {"a": None}),
    (Edge(1, 2, "x"), {"source": 1, "target": 2, "label": "x"}), (object, "<class 'object'>"),
])
def test_plain_values(value: object, expected: object) -> None:
    assert plain(value) == expected


def test_printed_text_keeps_its_end() -> None:
    assert event_text(Print("a"), PLAIN) == ("out", "a\n")
    assert event_text(Print("a", newline=False), PLAIN) == ("out", "a")


def test_plain_text_says_in_words_what_signs_and_colours_say() -> None:
    session, shown = Session(), []
    session.run("x = ones(2, requires_grad=True)\nz = x.exp().sum()\ngraph z\nretain z\ngraph z\nrelease\nz.backward()\n"
                "graph z\nmemory", shown.append)
    drawn = ["\n".join(lines_of(event.view(), ASCII)) for event in shown if type(event).__name__ == "Result"]
    assert "ExpBackward0 (2,)  saves result 8 B" in drawn[0]
    assert "saves result 8 B, pinned" in drawn[2]
    assert "saved result freed by line 7" in drawn[4]
    assert "bytes from line 1 to line" in drawn[5]
    assert all(text.isascii() for text in drawn)
