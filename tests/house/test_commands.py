"""Walks the list of commands: each line is the signature's, each example runs and shows in every format."""

import json

import pytest

from gradsh.commands import GRAMMARS, USAGE, find
from gradsh.commands.usage import formats_of
from gradsh.contracts.events import Event, Failure, Result
from gradsh.render.json import plain
from gradsh.render.style import Style
from gradsh.render.text import result_text
from gradsh.session.session import Session

COMMANDS = sorted(USAGE)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_has_the_signature(name: str) -> None:
    assert USAGE[name] == find(name).usage()


@pytest.mark.parametrize("name", COMMANDS)
def test_record_is_complete(name: str) -> None:
    record = find(name)
    assert record.name == name
    assert record.doc.endswith(".")
    assert record.examples
    assert any(name in example for example in record.examples)
    assert record.run.__doc__


@pytest.mark.parametrize("name", COMMANDS)
def test_grammar_is_read_back(name: str) -> None:
    grammar = GRAMMARS[name]
    shown = grammar.usage().removeprefix(name).strip()
    for extra in (f" [--format {'|'.join(formats_of(name))}]", " [--output FILE]"):
        shown = f" {shown}".replace(extra, "").strip()
    assert shown == USAGE[name]


@pytest.mark.parametrize(("name", "example"), [(name, text) for name in COMMANDS for text in find(name).examples])
def test_examples_run(name: str, example: str) -> None:
    events: list[Event] = []
    Session().run(example, events.append, name=name, keep_going=True)
    assert [event.problem for event in events if isinstance(event, Failure) and not event.expected] == []
    results = [event for event in events if isinstance(event, Result) and event.command == name]
    for result in results:
        assert result_text(result, Style()) == result_text(result, Style())
        json.dumps(plain(result.report), allow_nan=False)
        if name not in {"help", "explain"} and result.format in {"", "text"}:
            assert result_text(result, Style(ascii=True)).isascii()
