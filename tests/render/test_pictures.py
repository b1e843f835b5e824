"""Pictures of graphs: laid out without overlap, every node and edge there, as SVG and PNG."""

import xml.etree.ElementTree as ET

import pytest

from gradsh.contracts.events import Result
from gradsh.render.layout import lay_out
from gradsh.render.pictures import picture
from gradsh.session.session import Session

pytest.importorskip("grandalf")

SCRIPT = """
w = ones(3, requires_grad=True)
def f(a):
    b = a.exp()
    return (b * b + a).tanh()

y = w * 2
for i in range({passes}):
    y = f(y * w)

z = y.sum()
"""


def view_of(passes, line="graph z"):
    events = []
    session = Session()
    session.run(SCRIPT.format(passes=passes) + line, events.append)
    return next(event for event in events if isinstance(event, Result)).view()


@pytest.mark.parametrize("passes", [0, 1, 3, 30])
def test_boxes_do_not_overlap(passes):
    layout = lay_out(view_of(passes))
    boxes = layout.boxes
    for i, a in enumerate(boxes):
        assert a.width > 0
        assert a.x - a.width / 2 >= 0
        assert a.x + a.width / 2 <= layout.width
        for b in boxes[i + 1 :]:
            apart = abs(a.x - b.x) >= (a.width + b.width) / 2 - 0.5 or abs(a.y - b.y) >= (a.height + b.height) / 2 - 0.5
            assert apart, (a, b)


NET = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
    def forward(self, x):
        return x + self.b(self.a(x).relu())

net = nn.Sequential(Block(), Block(), Block(), nn.Linear(4, 1))
z = net(ones(3, 4)).pow(2).mean()
"""


def test_boxes_of_a_net_do_not_overlap():
    events = []
    Session().run(NET + "graph z --expand", events.append)
    event = next(one for one in events if isinstance(one, Result))
    boxes = lay_out(event.view()).boxes
    assert len(boxes) > 30
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            beside = abs(one.x - other.x) >= (one.width + other.width) / 2
            assert beside or abs(one.y - other.y) >= (one.height + other.height) / 2, (one, other)


def test_svg_is_xml_with_every_node():
    dag = view_of(2)
    document = ET.fromstring(picture(dag, "svg"))
    texts = [one.text for one in document.iter("{http://www.w3.org/2000/svg}text")]
    for node in dag.nodes:
        assert any(node.title in text for text in texts)
    assert sum(1 for _ in document.iter("{http://www.w3.org/2000/svg}polyline")) >= len(dag.nodes) - 1


def test_png_is_a_picture():
    pytest.importorskip("PIL")
    assert picture(view_of(2), "png").startswith(b"\x89PNG")
    assert picture(view_of(2, "memory"), "png").startswith(b"\x89PNG")


def test_chart_as_svg():
    ET.fromstring(picture(view_of(2, "memory"), "svg"))


@pytest.mark.parametrize(("line", "kind"), [("vars", "svg"), ("memory", "dot"), ("graph z", "gif")])
def test_what_cannot_be_drawn_says_so(line, kind):
    with pytest.raises(ValueError, match=r"choose|formats"):
        picture(view_of(1, line), kind)
