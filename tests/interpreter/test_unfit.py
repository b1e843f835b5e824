"""What a function of ours cannot work with is told in the script's words: no name of the engine's own gets out."""

import pytest

from gradsh.contracts.events import Failure
from gradsh.render.style import Style
from gradsh.render.text import event_text
from gradsh.session.session import Session


def told(text: str) -> str:
    events: list = []
    Session().run(text, events.append)
    failure = next(event for event in events if isinstance(event, Failure))
    shown = event_text(failure, Style())
    assert shown is not None
    return shown[1]


@pytest.mark.parametrize(("text", "words"), [
    ("torch.nn.init.kaiming_normal_('x', 1.5)", "torch.nn.init.kaiming_normal_ cannot take a value of type str here"),
    ("nn.Parameter([], 3)", "'list' object has no attribute 'detach'"),
    ("torch.is_inference(torch.Generator())", "cannot take a value of type"),
    ("nn.Sequential(torch.complex64)", "torch.dtype is not a Module subclass"),
    ("torch.seed(ones(1))", "seed() takes 0 positional arguments but 1 was given"),
    ("print(1, a=2)", "print() got an unexpected keyword argument 'a'"),
    ("sum()", "sum() missing 1 required positional argument"),
    ("pow(ones(1), 2, 3)", "pow() 3rd argument not allowed"),
    ("print(**1)", "print() argument after ** must be a mapping, not int"),
    ("torch.autograd.grad(*1)", "grad() argument after * must be an iterable, not int"),
    ("import time\ntime.sleep()", "sleep() missing 1 required positional argument: 'seconds'"),
    ("raise ValueError('gradsh (3)')", "gradsh (3)"),
    ("'a'.foo", "'str' object has no attribute 'foo'"),
])
def test_no_name_of_the_engine_gets_out(text: str, words: str) -> None:
    shown = told(text)
    assert words in shown
    for inner in ("gradsh.", "<locals>", "'array'", "'own_counter'", "'counter'"):
        assert inner not in shown
