"""`leaks` finds what grows, by the path of names, and says nothing where nothing does; its advice ends the growth."""

import gc

import pytest

from tests.probe.asking import Asked

LOOP = "w = ones(4, requires_grad=True)\n{before}\nfor i in range(5):\n{body}"


def leaks(before, body):
    text = LOOP.format(before=before, body="".join(f"    {line}\n" for line in body.split("\n")))
    return Asked(text).report("leaks").leaks


def test_running_total():
    (leak,) = leaks("total = 0", "loss = (w * w).sum()\nloss.backward(retain_graph=True)\ntotal = total + loss")
    assert (leak.kind, leak.path, leak.passes, leak.line) == ("total", "total", 5, 6)


def test_list_of_losses():
    (leak,) = leaks("losses = []", "losses.append((w * w).sum())")
    assert (leak.kind, leak.path, leak.passes, leak.line) == ("list", "losses", 5, 4)
    assert leak.per_pass == (2, 0)  # w itself, shared by all five: 16 bytes that do not grow


def test_hidden_state():
    (leak,) = leaks("h = zeros(4)", "h = (h * w).tanh()")
    assert (leak.kind, leak.path, leak.line) == ("carried", "h", 4)


def test_hidden_state_in_a_function_and_an_object():
    (leak,) = leaks(
        "class Cell:\n    def step(self):\n        self.h = (self.h * w).tanh()\n\ncell = Cell()\ncell.h = zeros(4)", "cell.step()"
    )
    assert (leak.kind, leak.path, leak.line) == ("carried", "cell.h", 4)


def test_hidden_state_whose_line_adds():
    text = "    return h * 0.9 + (h * w).sin() * 0.1"
    (leak,) = leaks(f"def step(h):\n{text}\n\nh = ones(4)", "h = step(h)")
    assert (leak.kind, leak.path) == ("carried", "h")


def test_gradient_with_a_graph_of_its_own():
    asked = Asked("w = ones(4, requires_grad=True)\n(w ** 3).sum().backward(create_graph=True)")
    (leak,) = asked.report("leaks").leaks
    assert (leak.kind, leak.path) == ("grad", "w.grad")
    gc.disable()
    try:
        asked.run("w.grad = None")
        assert asked.report("leaks").leaks == ()
    finally:
        gc.enable()


def test_cycle_that_no_name_reaches():
    asked = Asked()
    gc.disable()
    try:
        asked.run("w = ones(4, requires_grad=True)\n(w ** 3).sum().backward(create_graph=True)\ndel w")
        (leak,) = asked.report("leaks").leaks
        assert leak.kind == "unreachable"
        assert leak.line == 2
    finally:
        gc.enable()


@pytest.mark.parametrize(("before", "body"), [
    ("total = 0", "loss = (w * w).sum()\nloss.backward()\ntotal += loss.item()"),
    ("losses = []", "losses.append((w * w).sum().detach())"),
    ("h = zeros(4)", "h = h.detach()\nh = (h * w).tanh()"),
    ("", "(w * w).sum().backward()"),
    ("out = []", "out = [w * 2]"),
    ("net = nn.Sequential(*[nn.Linear(4, 4) for i in range(6)])", "y = net(w)"),
])
def test_nothing_grows(before, body):
    assert leaks(before, body) == ()


def test_repeated_statements_at_the_prompt():
    asked = Asked("w = ones(4, requires_grad=True)\nh = zeros(4)")
    for line in range(3, 8):
        asked.session.run("h = (h * w).tanh()", lambda _: None, first_line=line)
    (leak,) = asked.report("leaks").leaks
    assert leak.path == "h"


def test_advice_is_the_line_as_it_should_read():
    asked = Asked(
        "w = ones(2, requires_grad=True)\ntotal = 0\nfor i in range(3):\n    loss = (w*w).sum()\n    total += loss\n"
    )
    text = asked.shown("leaks")
    assert "`total += loss.item()`" in text
