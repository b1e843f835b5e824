"""`check` compares gradients in double precision, also where the expression differentiates inside."""

from gradsh.contracts.events import Result
from gradsh.session.session import Session

SECOND_ORDER = """
w = tensor([[0.3, -0.7]], requires_grad=True)
v = tensor([[1.1], [0.4]], requires_grad=True)
def adapted():
    inner = ((w.tanh() @ v - 1) ** 2).sum()
    gw, gv = torch.autograd.grad(inner, [w, v], create_graph=True)
    return (((w - 0.1 * gw).tanh() @ (v - 0.1 * gv)) ** 2).sum()
"""


def reported(text):
    events = []
    Session().run(text, events.append, name="script")
    return next(event.report for event in events if isinstance(event, Result))


def test_an_inner_gradient_is_computed_in_double_precision():
    report = reported(SECOND_ORDER + "check adapted() --inputs w v\n")
    assert report.ok
    assert report.double
    assert max(one.largest for one in report.inputs) < 1e-6


def test_a_first_order_gradient_is_still_found_out():
    text = SECOND_ORDER.replace(", create_graph=True", "")
    report = reported(text + "check adapted() --inputs w v\n")
    assert not report.ok
    assert report.cause == "cut"


def test_a_later_backward_writes_in_the_dtype_of_the_leaf():
    events = []
    session = Session()
    session.run(SECOND_ORDER + "check adapted() --inputs w v\nadapted().backward()\n", events.append, name="script")
    assert str(session.machine.program["w"].grad.dtype) == "torch.float32"
