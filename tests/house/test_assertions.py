"""The functions by which scripts assert what their graphs hold."""

from gradsh.contracts.events import Event, Failure
from gradsh.probe.assertions import functions
from gradsh.session.session import ASSERTIONS, Session

SCRIPT = """
x = ones(2, 3, requires_grad=True)
def build(v):
    h = v.exp()
    inside = live_bytes()
    del h
    return inside, live_bytes()
assert build(x) == (24, 0)
h = x.exp()
z = (h * h).sum()
w = z + 1
assert saved(h, "result") and not saved(h, "self") and not saved(x, "self")
assert not freed(w) and not freed(h) and not freed(x)
assert live_bytes() == 24 and reclaimable_bytes(w) == 0
del h
assert reclaimable_bytes(w) == 24
backward w
assert freed(w) and freed(z) and live_bytes() == 0
try:
    freed(3)
except TypeError as error:
    assert str(error) == "freed(): argument 'tensor' must be Tensor, not int"
"""


def test_assertions() -> None:
    events: list[Event] = []
    assert Session().run(SCRIPT, events.append).status == 0, [e.problem for e in events if isinstance(e, Failure)]


def test_they_survive_a_reset() -> None:
    session = Session()
    session.reset()
    assert session.run("live_bytes()", lambda _: None).status == 0


def test_the_session_knows_all_of_them() -> None:
    assert tuple(functions(dict)) == ASSERTIONS
