"""Warnings of Python's and numpy's are told at the script's line, with no place in gradsh's own files."""

import warnings

import pytest

from gradsh.contracts.events import Warn
from gradsh.session.session import Session


@pytest.mark.parametrize("text", ["np.log(np.zeros(2))", "x = ones(2) / 0\nnp.ones(2) / np.zeros(2)"])
def test_infinities_are_results_with_and_without_tensors(text: str) -> None:
    events: list = []
    Session().run("import numpy as np\n" + text, events.append)
    assert not [event for event in events if isinstance(event, Warn)]


@pytest.mark.parametrize(("text", "words"), [
    ("class E:\n    def __int__(self): return True\n\nint(E())", "__int__ returned non-int (type bool)"),
])
def test_a_warning_of_python_s_has_the_script_s_line(text: str, words: str) -> None:
    before = warnings.showwarning
    events: list = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        Session().run(text, events.append)
    told = [event for event in events if isinstance(event, Warn)]
    assert len(told) == 1
    assert words in told[0].message
    assert told[0].line == text.count("\n") + 1
    assert warnings.showwarning is before
