"""The token table as highlighters use it, and the tokens of the lexer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradsh.language.lexer import lex
from gradsh.language.tokens import pieces
from gradsh.text.span import Source
from tests.sweep import draws


def classes(text):
    return [(text[start:end], what) for start, end, what in pieces(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if x1: pass # no", [("if", "keyword"), ("x1", "name"), (":", "operator"), ("pass", "keyword"), ("# no", "comment")]),
        ("x = 1.5e3", [("x", "name"), ("=", "operator"), ("1.5e3", "number")]),
        ("f'{x}' + rb\"a\"", [("f'{x}'", "string"), ("+", "operator"), ('rb"a"', "string")]),
        ("print'a'", [("print", "name"), ("'a'", "string")]),
        ("x = 'abc", [("x", "name"), ("=", "operator"), ("'abc", "string")]),
        ("x = '''a\nb", [("x", "name"), ("=", "operator"), ("'''a\nb", "string")]),
        ("a $ b", [("a", "name"), ("$", "error"), ("b", "name")]),
        ("x[..., .5]", [("x", "name"), ("[", "operator"), ("...", "operator"), (",", "operator"), (".5", "number"), ("]", "operator")]),
        ("f'a{b", [("f'a{b", "string")]),
    ],
)
def test_pieces(text, expected):
    assert classes(text) == expected


@settings(max_examples=draws(200), deadline=None)
@given(st.text(alphabet="ab1.'\"fr{}\\\n #$+=é ", max_size=40))
def test_pieces_cover_any_text_in_order(text):
    at = 0
    for start, end, _ in pieces(text):
        assert at <= start < end
        assert not text[at:start].strip(" \t\f\r\n\\")
        at = end
    assert not text[at:].strip(" \t\f\r\n\\")


@settings(max_examples=draws(200), deadline=None)
@given(st.text(alphabet="ab1.'\"fr{}\\\n #$+=é()[]: \t", max_size=60))
def test_spans_lie_in_the_text(text):
    tokens = lex(Source("test", text))
    lines = text.split("\n")
    assert tokens.kinds[-1] == "END"
    for kind, piece, span, start, end in zip(tokens.kinds, tokens.texts, tokens.spans, tokens.starts, tokens.ends, strict=True):
        assert start <= end
        assert text[start:end] == piece or kind == "NAME"
        assert sum(len(line) + 1 for line in lines[: span.line - 1]) + span.column - 1 == start, (kind, piece)
        assert sum(len(line) + 1 for line in lines[: span.end_line - 1]) + span.end_column - 1 == end, (kind, piece)


def test_f_strings_are_tokens():
    tokens = lex(Source("test", 'f"a{x!r:>{w}}" \'b\''))
    assert tokens.kinds == [
        "FSTART", "FMIDDLE", "{", "NAME", "!", "NAME", ":", "FMIDDLE", "{", "NAME", "}", "}", "FEND", "STRING", "NEWLINE", "END",
    ]
