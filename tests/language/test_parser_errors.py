"""Texts that are no programs: each gives a located problem, with a help line, and never another exception."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from language_samples import GRAMMARS, problem_of, statements

from gradsh.language.parser import parse
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source
from tests.sweep import draws

BROKEN = [
    # text, what the message says, line and column of the place, what the help line says
    ("x = (1,\n2", "'(' was never closed", (1, 5), "close it with )"),
    ("x = [1, 2\ny = 3", "'[' was never closed", (1, 5), "close it with ]"),
    ("f(1 2)", "Perhaps you forgot a comma?", (1, 3), "comma"),
    ("x = {1: 2 3: 4}", "Perhaps you forgot a comma?", (1, 9), "comma"),
    ("x = )", "unmatched ')'", (1, 5), "remove it"),
    ("x = (]", "closing parenthesis ']' does not match opening parenthesis '('", (1, 6), "close it with )"),
    ("if x\n  y", "expected ':'", (1, 5), "put : behind the if"),
    ("def f(x)\n  return x", "expected ':'", (1, 9), "put : behind the def"),
    ("if x = 1:\n  y", "Maybe you meant '==' or ':=' instead of '='?", (1, 6), "=="),
    ('print "a" % b', "Missing parentheses in call to 'print'. Did you mean print(...)?", (1, 1), 'write print("a" % b)'),
    ("print x, y", "Missing parentheses in call to 'print'", (1, 1), "write print(x, y)"),
    ("raise E, 'm'", "raise takes one exception", (1, 8), "raise ValueError"),
    ("try:\n  x\nexcept A, e:\n  y", "multiple exception types must be parenthesized", (3, 9), "except A as e"),
    ("a <> b", "'<>' is no operator", (1, 3), "!="),
    ("x = 'abc\ny", "unterminated string literal (detected at line 1)", (1, 5), "close it with '"),
    ('x = """abc\nd', "unterminated triple-quoted string literal (detected at line 2)", (1, 5), 'close it with """'),
    ('f"{x', "f-string: expecting '}'", (1, 5), "close the field"),
    ('f"a}b"', "f-string: single '}' is not allowed", (1, 4), "}}"),
    ('f"{}"', "f-string: valid expression required before '}'", (1, 4), "expression"),
    ('f"{x!z}"', "invalid conversion character 'z'", (1, 6), "!r"),
    ('f"abc', "unterminated f-string literal (detected at line 1)", (1, 1), 'close it with "'),
    ("x = 1 +", "expected an expression, found the end of the line", (1, 8), "( )"),
    ("a b", "expected the end of the statement, found 'b'", (1, 3), "line"),
    ("if x:\ny", "expected an indented block after 'if' statement on line 1", (2, 1), "pass"),
    ("for i in x:\n  if i:\n  y", "expected an indented block after 'if' statement on line 2", (3, 3), "pass"),
    ("x = 1\n  y = 2", "unexpected indent", (2, 1), "column"),
    ("if x:\n    a\n  b", "unindent does not match any outer indentation level", (3, 1), "0 or 4"),
    ("if x:\n\ta\n        b", "inconsistent use of tabs and spaces in indentation", (3, 1), "blanks"),
    ("x++", "'++' is no operator", (1, 2), "+= 1"),
    ("a && b", "'&&' is no operator", (1, 3), "write and"),
    ("x = !y", "'!' is no operator", (1, 5), "not"),
    ("else:\n pass", "'else' without a block", (1, 1), "if"),
    ("if a:\n pass\nelse if b:\n pass", "'else if'", (3, 1), "elif"),
    ("for i range(3):\n x", "expected 'in'", (1, 7), "for name in"),
    ("def f(x, x): pass", "duplicate argument 'x' in function definition", (1, 10), "rename"),
    ("def f(a=1, b): pass", "non-default argument follows default argument", (1, 12), "default"),
    ("def f(*): pass", "named arguments must follow bare *", (1, 8), "*"),
    ("return 1", "'return' outside function", (1, 1), "def"),
    ("break", "'break' outside loop", (1, 1), "put it in one"),
    ("while x:\n  def f():\n    continue", "'continue' not properly in loop", (3, 5), "put it in one"),
    ("yield 1", "'yield' outside function", (1, 1), "function"),
    ("f() = 3", "cannot assign to function call here. Maybe you meant '==' instead of '='?", (1, 1), "=="),
    ("a + b = c", "cannot assign to expression here", (1, 1), "=="),
    ("(a, 1) = c", "cannot assign to literal", (1, 5), "name"),
    ("None = 1", "cannot assign to None", (1, 1), "name"),
    ("del f()", "cannot delete function call", (1, 5), "del takes"),
    ("f() += 1", "'function call' is an illegal expression for augmented assignment", (1, 1), "name"),
    ("for f() in x: pass", "cannot assign to function call", (1, 5), "name"),
    ("*a = 1", "starred assignment target must be in a list or tuple", (1, 1), "*a,"),
    ("*a, *b = c", "multiple starred expressions in assignment", (1, 1), "one star"),
    ("x = *a", "can't use starred expression here", (1, 5), "*a,"),
    ("[*a for a in b]", "iterable unpacking cannot be used in comprehension", (1, 2), "for"),
    ("f(a=1, 2)", "positional argument follows keyword argument", (1, 8), "before"),
    ("f(a=1, a=2)", "keyword argument repeated: a", (1, 8), "once"),
    ("f(a.b=2)", 'expression cannot contain assignment, perhaps you meant "=="?', (1, 3), "=="),
    ("f(x for x in y, 1)", "Generator expression must be parenthesized", (1, 3), "( )"),
    ("from import a", "expected a module's name", (1, 6), "from module import"),
    ("from a import b,", "trailing comma not allowed without surrounding parentheses", (1, 16), "comma"),
    ("def f():\n  from a import *", "import * only allowed at module level", (2, 17), "name"),
    ("x.class", "'class' is a keyword and no name", (1, 3), "class_"),
    ("async def f(): pass", "async is not part of the language", (1, 1), "remove the word"),
    ("x = await y", "await is not part of the language", (1, 5), "remove the word"),
    ("match x:\n  cse 1:\n    pass", "invalid syntax", (1, 7), ""),
    ("match x:\n  case 1:\n    pass\n  y", "expected 'case'", (4, 3), "case PATTERN"),
    ("try:\n  x\nexcept* A:\n  y", "except* is not part of the language", (3, 7), "except"),
    ("try:\n  x\ny", "expected 'except' or 'finally' block", (3, 1), "except"),
    ("%matplotlib inline", "IPython magic", (1, 1), "remove the line"),
    ("x = 1\n!pip install x", "IPython magic", (2, 1), "remove the line"),
    ("pip install torch", "a line for a terminal", (1, 1), "remove the line"),
    ("$x", "unexpected character '$'", (1, 1), "remove"),
    ("x = “a”", "invalid character '“' (U+201C)", (1, 5), 'write "'),
    ("x\xa0= 1", "invalid character U+00A0", (1, 2), "blank"),
    ("x = \x001", "invalid non-printable character U+0000", (1, 5), "remove"),
    ("x = 1_", "invalid decimal literal", (1, 5), "underscores"),
    ("x = 0777", "leading zeros in decimal integer literals are not permitted", (1, 5), "0o777"),
    ("x = 1abc", "invalid decimal literal", (1, 5), "digit"),
    ("x = 2j", "complex numbers are not part of the language", (1, 5), "apart"),
    ('x = b"é"', "bytes can only contain ASCII literal characters", (1, 5), "encode"),
    ('x = b"a" "b"', "cannot mix bytes and nonbytes literals", (1, 5), "the b"),
    ('"ab\\x1"', "truncated \\xXX escape", (1, 4), "\\\\"),
    ("x = 1 \\ 2", "unexpected character after line continuation character", (1, 7), "behind the backslash"),
    ("retrun x", "'retrun' begins no statement", (1, 1), "did you mean return?"),
    ("def f():\n  x = 1\n  global x", "name 'x' is assigned to before global declaration", (3, 3), "top"),
    ("def f():\n  print(x)\n  global x", "name 'x' is used prior to global declaration", (3, 3), "top"),
    ("def f():\n  nonlocal x", "no binding for nonlocal 'x' found", (2, 3), "global"),
    ("def f(x):\n  global x", "name 'x' is parameter and global", (2, 3), "parameter"),
    ("nonlocal x", "nonlocal declaration not allowed at module level", (1, 1), "remove"),
]


@pytest.mark.parametrize(("text", "message", "place", "help_line"), BROKEN, ids=[row[0][:30] for row in BROKEN])
def test_broken_texts(text, message, place, help_line):
    problem = problem_of(text)
    assert problem.kind == "syntax"
    assert problem.help
    assert message in problem.message
    assert help_line in problem.help[0]
    assert tuple(problem.labels[-1].span[:2]) == place


def test_lines_count_from_the_first_line_of_the_source():
    with pytest.raises(ProblemError) as caught:
        parse(Source("prompt", "x = 1\ny = )", first_line=40), {})
    assert caught.value.problem.labels[-1].span.line == 41


@pytest.mark.parametrize(
    "text",
    ["(" * 10_000 + ")" * 10_000, "[" * 10_000, "-" * 10_000 + "x", "not " * 10_000 + "x", "x**" * 10_000 + "x",
     "lambda: " * 10_000 + "x", "x if y else " * 10_000 + "z", "f'{" * 1000, "1" * 5000, "time " * 5000 + "x",
     "".join(" " * depth + "if x:\n" for depth in range(500)), "x = 1\n" * 2_000_000],
    ids=lambda text: text[:12],
)
def test_what_is_too_deep_or_too_long_is_a_limit(text):
    problem = problem_of(text)
    assert problem.kind == "limit"
    assert problem.help


@pytest.mark.parametrize(
    "text",
    ["+".join(["a"] * 10_000), "a" + ".b" * 10_000, "a" + "(0)" * 10_000, " and ".join(["a"] * 10_000),
     "a < " * 10_000 + "b", "[" + "1, " * 10_000 + "]", "if x:\n  y\n" + "elif x:\n  y\n" * 2000, "(" * 150 + "x" + ")" * 150,
     "a = " * 5000 + "b", "f'" + "{x}" * 5000 + "'", "x = '" + "a" * 1_000_000 + "'", "\\\n" * 10_000 + "x"],
    ids=lambda text: text[:12],
)
def test_what_is_long_but_not_deep_parses(text):
    assert statements(text)


def parses_or_explains(text):
    try:
        parse(Source("fuzz", text), GRAMMARS)
    except ProblemError as error:
        problem = error.problem
        assert problem.kind in {"syntax", "limit"}
        assert problem.help
        assert all(problem.help)
        assert problem.labels
        assert all(1 <= label.span.line <= text.count("\n") + 1 for label in problem.labels)


PIECES = [
    "x", "1", "2.5", "'s'", '"', "'", '"""', "f'", "{", "}", "(", ")", "[", "]", ":", ",", ".", "...", "=", "==", "+=", "+",
    "-", "--", "--retain", "*", "**", "@", "!", "\\", "\n", "\n  ", "\n    ", "\t", " ", ";", "#", "if ", "else", "elif ",
    "for ", " in ", "while ", "def f", "class ", "lambda ", "return ", "yield ", "del ", "global ", "import ", "from ", " as ",
    "with ", "try:", "except", "finally:", "not ", "and ", "is ", "async ", "await ", "match ", "print ", "backward ", "graph ",
    "expect error: ", "time ", "load ", "set ", "é", "“", "\x00", "\r", "\xa0", "$", "0x", "1_", "~", ":=", "->", "<>",
]  # fmt: skip


@settings(max_examples=draws(300), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
@example("f'{")
@example("load 'a\"b")
@example("expect error:")
def test_pieces_of_programs_never_crash(text):
    parses_or_explains(text)


@settings(max_examples=draws(150), deadline=None)
@given(st.text(max_size=60))
def test_any_text_never_crashes(text):
    parses_or_explains(text)
