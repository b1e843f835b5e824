"""Pictures of graphs: laid out without overlap, every node and edge there, as SVG and PNG."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from gradsh.contracts.events import Result
from gradsh.render.layout import lay_out, state_of, with_copies
from gradsh.render.pictures import picture
from gradsh.render.png import _draws_nothing
from gradsh.session.session import Session
from gradsh.view.shapes import Dag, DagNode, Edge

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


def drawn(line, text=NET):
    events = []
    Session().run(text + line, events.append)
    return [one for one in events if isinstance(one, Result)][-1].view()


def holds(frame, box):
    across = frame.left <= box.x - box.width / 2 and box.x + box.width / 2 <= frame.left + frame.width
    return across and frame.top <= box.y - box.height / 2 and box.y + box.height / 2 <= frame.top + frame.height


def is_apart(frame, box):
    beside = box.x + box.width / 2 <= frame.left or box.x - box.width / 2 >= frame.left + frame.width
    return beside or box.y + box.height / 2 <= frame.top or box.y - box.height / 2 >= frame.top + frame.height


@pytest.mark.parametrize("line", ["graph z --expand", "graph z", "graph z --open net[1]", "graph z --limit 12 --expand"])
def test_each_box_stands_in_its_frames_and_apart_from_others(line):
    dag = with_copies(drawn(line))
    layout = lay_out(dag)
    assert dag.frames
    for node, box in zip(dag.nodes, layout.boxes, strict=True):
        around, frame = set(), node.frame
        while frame is not None:
            around.add(frame)
            frame = dag.frames[frame].parent
        for number, frame in enumerate(layout.frames):
            assert (holds if number in around else is_apart)(frame, box), (frame, box)


def test_edges_run_from_box_to_box_downwards():
    dag = with_copies(drawn("graph z --expand"))
    layout = lay_out(dag)
    pairs = dict.fromkeys((edge.source, edge.target) for edge in dag.edges)
    for (source, target), path in zip(pairs, layout.paths, strict=True):
        (x, y), (to_x, to_y) = path.points[0], path.points[-1]
        assert (x, y) == pytest.approx((layout.boxes[source].x, layout.boxes[source].y + layout.boxes[source].height / 2))
        assert (to_x, to_y) == pytest.approx((layout.boxes[target].x, layout.boxes[target].y - layout.boxes[target].height / 2))
        assert all(one[1] <= other[1] for one, other in pairwise(path.points))


def test_frames_tell_modules_functions_and_passes():
    titles = [frame.title for frame in drawn("graph z --expand").frames]
    assert titles == ["net", "net[0]", "net[0].a", "net[0].b", "net[1]", "net[1].a", "net[1].b", "net[2]", "net[2].a", "net[2].b", "net[3]"]
    calls = [frame.title for frame in view_of(2, "graph z --expand").frames]
    assert calls == ["iteration 1", "f()", "iteration 2", "f()"]
    assert not drawn("graph z --by line").frames


def test_a_function_is_opened():
    text = SCRIPT.format(passes=2)
    folded, opened = drawn("graph z --by function", text), drawn("graph z --by function --open f", text)
    assert [node.title for node in folded.nodes].count("f()") == 2
    titles = [node.title for node in opened.nodes]
    assert "f()" not in titles
    assert titles.count("TanhBackward0") == 2
    assert drawn("graph z --open f", text).nodes == opened.nodes


STATES = """
x = ones(2, requires_grad=True)
a = x.exp()
b = x.sin()
c = b.exp()
d = x.cos().exp()
retain d
c.add_(1)
a.sum().backward()
"""


@pytest.mark.parametrize(("line", "dot_look", "left", "svg_border"), [
    ("graph b", "style=filled]", "[", 'stroke="#1a7f37"/'), ("graph a", 'style="filled,dashed"', "[", "stroke-dasharray"),
    ("graph d", "peripheries=2", "[[", 'rx="3" fill="none"'), ("graph c", "shape=octagon", "{{", 'stroke-width="3"'),
])
def test_states_are_told_by_border_and_shape(line, dot_look, left, svg_border):
    dag = drawn(line, STATES)
    state = line_state(line)
    assert state in {state_of(node) for node in dag.nodes}
    assert dot_look in picture(dag, "dot")
    assert svg_border in picture(dag, "svg")
    lines = picture(dag, "mermaid").splitlines()
    assert any(f'{left}"' in one and one.endswith(f":::{state}") for one in lines)
    assert any(one.startswith(f"  classDef {state} ") for one in lines)


def line_state(line):
    return {"a": "freed", "b": "live", "c": "modified", "d": "pinned"}[line[-1]]


def test_dot_and_mermaid_nest_frames():
    dag = drawn("graph z --open net[1]")
    for kind, begin, end in (("dot", "subgraph cluster_", "}"), ("mermaid", "subgraph ", "end")):
        depth = most = opened = 0
        for line in picture(dag, kind).splitlines()[1:]:
            if line.strip().startswith(begin):
                depth, opened = depth + 1, opened + 1
            elif line.strip() == end and depth:
                depth -= 1
            most = max(most, depth)
        assert (opened, depth) == (len(dag.frames), 0)
        assert most == 2


def test_a_circle_is_laid_out():
    ring = Dag((DagNode("A"), DagNode("B"), DagNode("C")), (Edge(0, 1), Edge(1, 2), Edge(2, 0), Edge(1, 1)), (0,))
    assert len(lay_out(ring).boxes) == 3


def test_svg_is_xml_with_every_node():
    dag = view_of(2)
    document = ET.fromstring(picture(dag, "svg"))
    texts = [one.text for one in document.iter("{http://www.w3.org/2000/svg}text")]
    for node in dag.nodes:
        assert any(node.title in text for text in texts)
    edges = [one for one in document.iter("{http://www.w3.org/2000/svg}path") if one.get("marker-end")]
    assert len(edges) == len({(edge.source, edge.target) for edge in dag.edges})


@pytest.fixture
def drawn_letters():
    """Skips where no png can be drawn: without the library, or on a machine without any font."""
    resvg = pytest.importorskip("resvg_py")
    if _draws_nothing(resvg.svg_to_bytes):
        pytest.skip("the machine has no font")


@pytest.mark.usefixtures("drawn_letters")
def test_png_is_a_picture():
    assert picture(view_of(2), "png").startswith(b"\x89PNG")
    assert picture(view_of(2, "memory"), "png").startswith(b"\x89PNG")


@pytest.mark.usefixtures("drawn_letters")
def test_png_is_drawn_behind_the_wall_of_a_script(tmp_path):
    text = f"x = ones(2, requires_grad=True)\ny = x.exp()\ngraph y --output {tmp_path}/y.png"
    words = [sys.executable, "-m", "gradsh", "run", "--allow-files", str(tmp_path), "-c", text]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "y.png").read_bytes().startswith(b"\x89PNG")


def test_chart_as_svg():
    ET.fromstring(picture(view_of(2, "memory"), "svg"))


@pytest.mark.parametrize(("line", "kind"), [("vars", "svg"), ("memory", "dot"), ("graph z", "gif")])
def test_what_cannot_be_drawn_says_so(line, kind):
    with pytest.raises(ValueError, match=r"choose|formats"):
        picture(view_of(1, line), kind)
