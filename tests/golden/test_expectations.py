"""Where expectations may stand, and what they say."""

import pytest

from gradsh.text.expectations import parse_line, scan
from gradsh.text.problem import ProblemError
from gradsh.text.script_options import ScriptOptions, options_of
from gradsh.text.span import Source

SCRIPT = """#!/usr/bin/env gradsh
#@ seed=3 rtol=1e-2
x
#> one
#>
# a remark
#> two
for i in a:
    b
#>> long.out
y; z
#! error[freed]: [..]
#! ...
#/ a+ /
"""
STATEMENTS = [(3, 3), (8, 9), (11, 11), (11, 11)]


def test_blocks_belong_to_the_statement_above() -> None:
    blocks = scan(Source("s", SCRIPT), STATEMENTS)
    assert [(e.line, e.text) for e in blocks[3].output] == [(4, "one"), (5, ""), (7, "two")]
    assert blocks[9].sibling is not None
    assert blocks[9].sibling.text == "long.out"
    assert [e.text for e in blocks[11].failure] == ["error[freed]: [..]", "..."]
    assert blocks[11].fails
    assert not blocks[3].fails
    assert [e.sign for e in blocks[11].output] == ["#/"]


def test_options() -> None:
    assert options_of(Source("s", SCRIPT)) == ScriptOptions(seed=3, rtol=0.01)


@pytest.mark.parametrize("line", ["#@ sed=3", "#@ seed", "#@ seed=x", "#@ rtol=1e"])
def test_bad_options(line: str) -> None:
    with pytest.raises(ProblemError):
        options_of(Source("s", line))
    assert options_of(Source("s", line), strict=False) == ScriptOptions()


@pytest.mark.parametrize(("text", "spans"), [
    ("#> early\nx\n", [(2, 2)]),
    ("for i in a:\n    b\n    #> inside\n    c\n", [(1, 4)]),
    ("for i in a:\n    b\n    #> indented\n", [(1, 2)]),
])
def test_misplaced(text: str, spans: list[tuple[int, int]]) -> None:
    with pytest.raises(ProblemError, match="belongs to no statement"):
        scan(Source("s", text), spans)
    assert scan(Source("s", text), spans, strict=False) == {}


def test_strings_are_no_expectations() -> None:
    text = 'x = """\n#> not one\n"""\n'
    assert scan(Source("s", text), [(1, 3)]) == {}


def test_shebang_is_no_expectation() -> None:
    assert parse_line("#! x", 1) is None
    assert parse_line("#! x", 2) is not None
    assert parse_line("#/usr/bin/env", 2) is None
