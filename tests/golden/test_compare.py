"""How a line of output is held against what is expected."""

import pytest

from gradsh.golden.compare import Tolerance, agree, align, text_matches
from gradsh.text.expectations import Expected, parse_line

TOLERANCE = Tolerance()


@pytest.mark.parametrize(("expected", "actual"), [
    ("tensor(5., grad_fn=<SumBackward0>)", "tensor(5., grad_fn=<SumBackward0>)"),
    ("tensor(5.)", "tensor(5.0001)"),
    ("tensor([1., 20.])", "tensor([ 1., 20.])"),
    ("loss 0.6931", "loss 0.69312"),
    ("[..] line 3", "PowBackward0 (2,) line 3"),
    ("a[..]b[..]c", "a1b2c"),
    ("[..] 1.0", "2.0 and 1.00001"),
    ("Mul[..]0", "MulBackward0"),
    ("x = 1e-3", "x =  1.0000001e-03"),
    ("nan inf -inf", "nan inf -inf"),
    ("trailing", "trailing   "),
    ("", "   "),
    ("-0.0000", "0.0000"),
    ("freed 2 buffers[..]", "freed 2 buffers: Mul.self"),
    ("took [TIME], at [PTR]", "took 1.25 ms, at 0x7f3a"),
    ("[DATE] [BYTES] [NUM] [PATH]", "2026-01-02T03:04:05Z 1.5 KiB -3e-4 ../a/b.txt"),
    ("[..][TIME][..]", "after 3 h of work"),
    ("a [TIME]", "a [TIME]"),
    ("[OTHER]", "[OTHER]"),
])
def test_matches(expected: str, actual: str) -> None:
    assert text_matches(expected, actual.rstrip(), TOLERANCE)


@pytest.mark.parametrize(("expected", "actual"), [
    ("tensor(5.)", "tensor(5)"),
    ("tensor(5.)", "tensor(5.1)"),
    ("shape (2, 3)", "shape (2, 4)"),
    ("line 3", "line 33"),
    ("3", "3.0"),
    ("v 13", "v13"),
    ("nan", "inf"),
    ("inf", "1e30"),
    ("AddBackward0", "AddBackward1"),
    ("1.0 [..]", "2.0 1.0 x"),
    ("23.0", "123.0"),
    ("word", "Word"),
    ("a b", "ab"),
    ("[..]x", "y"),
    ("took [TIME]", "took long"),
    ("took [TIME]", "took 3 ms more"),
    ("[PTR]", "0x"),
    ("[OTHER]", "x"),
])
def test_differs(expected: str, actual: str) -> None:
    assert not text_matches(expected, actual, TOLERANCE)


def lines(*texts: str, sign: str = "#>") -> list[Expected]:
    return [Expected(number, sign, text) for number, text in enumerate(texts, 1)]


def test_any_lines_take_up_any_number() -> None:
    for actual in (["a", "z"], ["a", "b", "c", "z"]):
        assert agree(lines("a", "...", "z"), actual, TOLERANCE)
    assert not agree(lines("a", "...", "z"), ["a", "b"], TOLERANCE)
    assert agree(lines("..."), [], TOLERANCE)


def test_every_line_must_be_matched() -> None:
    assert not agree(lines("a"), ["a", "b"], TOLERANCE)
    assert not agree(lines("a", "b"), ["a"], TOLERANCE)
    assert not agree([], ["a"], TOLERANCE)


def test_regular_expression_matches_the_whole_line() -> None:
    assert agree([Expected(1, "#/", r"tensor\(\d+\.\)")], ["tensor(12.)"], TOLERANCE)
    assert not agree([Expected(1, "#/", r"tensor")], ["tensor(12.)"], TOLERANCE)
    assert not agree([Expected(1, "#/", r"(")], ["("], TOLERANCE)


def test_alignment_pairs_exactly_what_matches() -> None:
    pairs = align(lines("a", "b", "c"), ["a", "x", "c", "d"], TOLERANCE)
    assert [(p.expected, p.actual) for p in pairs] == [(0, 0), (1, None), (None, 1), (2, 2), (None, 3)]


def test_tolerance_is_the_files() -> None:
    assert text_matches("1.0", "1.05", Tolerance(rtol=0.1))
    assert not text_matches("1.0", "1.05", Tolerance(rtol=0.01))
    assert text_matches("0.0", "0.05", Tolerance(atol=0.1))


def test_long_outputs_are_compared_in_time() -> None:
    many = [f"line {i}" for i in range(20_000)]
    changed = [*many[:10_000], "other", *many[10_000:]]
    assert not agree(lines(*many), changed, TOLERANCE)
    assert len(align(lines(*many), changed, TOLERANCE)) == 20_001


@pytest.mark.parametrize(("expected", "actual", "agrees"), [
    (["#*> a", "#*> b"], ["b", "a"], True), (["#*> a", "#*> b"], ["b", "b"], False), (["#*> a"], ["a", "a"], False),
    (["#*> [..]", "#*> a", "#*> [..]b"], ["a", "xb", "c"], True), (["#*> [..]a", "#*> a"], ["a", "c"], False),
    (["#> x", "#*> x", "#*> y"], ["x", "y", "x"], True), (["#*> x", "#*> y", "#> x"], ["y", "x", "x"], True),
    (["#> ...", "#*> x", "#*> y", "#> z"], ["x", "y", "q", "y", "x", "z"], True),
    (["#*> x", "#> s", "#*> y"], ["y", "s", "x"], False),
])
def test_lines_that_may_change_places(expected: list[str], actual: list[str], agrees: bool) -> None:
    assert agree(parsed(*expected), actual, TOLERANCE) is agrees


def test_many_lines_may_change_places() -> None:
    """Each can stand for two neighbours, and the last one has only one place: all others have to move."""
    count = 300
    rows = [Expected(i, "#*>", f"{i}[..]") for i in range(count)]
    assert agree(rows, [f"{i}" for i in reversed(range(count))], TOLERANCE)
    chain = [Expected(i, "#*>", "[..]") for i in range(count)] + [Expected(count, "#*>", "x0")]
    assert agree(chain, [f"x{i}" for i in range(count + 1)], TOLERANCE)


@pytest.mark.parametrize(("expected", "actual", "agrees"), [
    ("#~1e-2> 1.00 a", "1.01 a", True), ("#~1e-2> 1.00", "1.03", False), ("#~0> 0.5", "0.50001", False), ("#~.5> 0.0", "0.4", True),
])
def test_a_tolerance_of_one_line(expected: str, actual: str, agrees: bool) -> None:
    assert agree(parsed(expected), [actual], TOLERANCE) is agrees


def parsed(*texts: str) -> list[Expected]:
    found = [parse_line(text, number) for number, text in enumerate(texts, 2)]
    assert None not in found
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("text", [
    "#~~~~~~", "# ~1> x", "#~nan> 1.0", "#~inf> 1.0", "#~-1> 1.0", "#~> 1.0", "#** note >", "#* a list", "#~5 minutes",
])
def test_what_only_looks_like_an_expectation_is_a_comment(text: str) -> None:
    assert parse_line(text, 3) is None
