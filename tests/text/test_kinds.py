"""Each kind of error: complete, found by its sentences; its example fails with it, its ways out work."""

import re

import pytest

from gradsh.commands import USAGE
from gradsh.contracts.events import Failure
from gradsh.language.command_line import CommandGrammar, Positional
from gradsh.language.parser import parse
from gradsh.session.session import Session
from gradsh.text.kinds import KINDS, kinds_for
from gradsh.text.messages import MESSAGES
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source

PRODUCT = (
    "freed version no_grad scalar grad_shape leaf_inplace view_inplace not_leaf unused dtype shape index key attribute name type value"
    " arithmetic assert expect syntax limit io interrupt other"
)
GRAMMARS = {
    "retain": CommandGrammar("retain", [Positional("T", "expr", 0, None)]),
    "release": CommandGrammar("release", [Positional("NAME", "name", 0, None)]),
    "load": CommandGrammar("load", [Positional("FILE", "file")]),
    "expect": CommandGrammar("expect", [Positional("error", "word"), Positional("KIND", "word", 0)], {}, "colon"),
}


def test_every_kind_is_there():
    assert list(KINDS) == PRODUCT.split()


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_kind_is_complete(kind):
    assert kind.summary
    assert kind.meaning.endswith(".")
    assert kind.example or kind.situation
    assert kind.ways
    assert all(way.text.endswith((".", ".)")) and way.script.endswith("\n") for way in kind.ways)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_its_scripts_are_programs(kind):
    for way in kind.ways:
        assert parse(Source("way", way.script), GRAMMARS).body
    if kind.name == "syntax":
        with pytest.raises(ProblemError):
            parse(Source("example", kind.example), GRAMMARS)
    else:
        assert parse(Source("example", kind.example), GRAMMARS).body or not kind.example


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Trying to backward through the graph a second time", "freed"),
        ("RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [...]", "version"),
        ("element 0 of tensors does not require grad", "no_grad"),
        ("Only Tensors of floating point and complex dtype can require gradients", "dtype"),
        ("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", "shape"),
        ("a leaf Variable that requires grad is being used in an in-place operation.", "leaf_inplace"),
        ("appears to not have been used in the graph", "unused"),
    ],
)
def test_a_sentence_leads_to_its_kind(sentence, kind):
    assert kind in kinds_for(sentence)


def test_a_whole_sentence_beats_a_word():
    assert kinds_for("RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors") == ["freed"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.example], ids=lambda kind: kind.name)
def test_its_example_fails_with_it_at_the_last_statement(kind):
    if kind.name == "io" and "load" not in USAGE:
        pytest.skip("the command load is not there yet")
    failures = failures_of(kind.example)
    assert [failure.problem.kind for failure in failures] == [kind.name]
    last = kind.example.rstrip("\n").count("\n") + 1
    spans = [label.span for label in failures[0].problem.labels if label.role in {"needed", "called"}]
    assert any(span.line <= last <= span.end_line for span in spans) or kind.name in {"limit", "value"}


@pytest.mark.parametrize("kind", [*KINDS.values(), *MESSAGES.values()], ids=[*KINDS, *MESSAGES])
def test_its_ways_out_work(kind):
    for way in kind.ways:
        assert [failure.problem.message for failure in failures_of(way.script) if not failure.expected] == []


def failures_of(script):
    events = []
    Session().run(script, events.append, name="script")
    return [event for event in events if isinstance(event, Failure)]


def test_nothing_leads_nowhere():
    assert kinds_for("  ") == []
    assert kinds_for("no such sentence at all") == []


@pytest.mark.parity
@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_pytorch_agrees(kind):
    torch = pytest.importorskip("torch")
    own = re.compile(r"^(retain|release|load|expect) .*$", re.MULTILINE)
    scripts = [way.script for way in kind.ways if not own.search(way.script)]
    for script in scripts:
        exec(compile(script, "way", "exec"), {"torch": torch, "__name__": "__main__"})
    if kind.example and not own.search(kind.example):
        with pytest.raises(Exception) as caught:
            exec(compile(kind.example, "example", "exec"), {"torch": torch, "__name__": "__main__"})
        known = [sentence.split("...")[0].split("(")[0].casefold() for sentence in kind.sentences]
        told = f"{type(caught.value).__name__}: {caught.value}".casefold()
        assert any(sentence in told for sentence in known) or kind.name == "other"
