"""Python's own parser is the oracle: what both accept must be the same tree, at the same places."""

import ast
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_samples import statements
from python_tree import dump, positions, to_ast

from gradsh.language.parser import parse
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source
from tests.sweep import draws

REAL = sorted((Path(__file__).parent.parent / "oracle" / "real").glob("*.py"))


def same_as_python(text):
    program = parse(Source("test", text), {})
    expected, ours = ast.parse(text), to_ast(program)
    assert dump(ours) == dump(expected)
    assert not list(positions(expected, ours, text))


SNIPPETS = """
x = (yield_ := 3)
a = b = c, d = e
(a) = [b] = c
x: int
x: int = 3
(x): "Tensor" = y
a.b: float = 1
a[0]: float
x += 1; y @= z; w //= 2; v **= 3; u >>= 1; t <<= 2; s &= 1; r |= 2; q ^= 3; p %= 4
del a, b.c, d[0], (e, [f])
assert a, "b"
assert (a, b)
raise
raise E from None
import a, b.c as d
from . import a
from ...b.c import (d as e, f,)
from a import *
pass; pass;
-x ** -y ** z
not a == b < c is not d not in e in f is g
a or b and not c or d
a if b else c if d else e
lambda: 0
lambda a, /, b=1, *c, d, e=2, **f: (a, b)
lambda *, a: a
lambda *a, **b: lambda x: x
f(a, *b, c=d, **e, f=g)
f(x for x in y)
f((x for x in y), 1)
f(a)(b)[c].d
x[1:2, ::3, ..., None, a:b:c, :]
x[a, *b]
x[a:=1]
x[1,]
x[:], x[::], x[1:], x[:1]
(), (a,), (a, b), (a), [], [a], [a, *b,]
{}, {a}, {a, *b}, {a: b}, {a: b, **c, d: e,}
[a for b in c if d if e for f, *g in h]
{a for b, in c}
{a: b for c.d in e}
(a for b[0] in c)
print(f"{x!r:>{w}}{{}}{y=} {z = :.3f}" "tail" 'more')
f"" f'{a}'
f"{a['b']}" '''c'''
rf"\\d{a}\\n" f"\\N{EM DASH}\\x41{'x'}"
"a" "b" r"\\c" u"d"
'''line
two''' + f'''{
a}
b'''
1_000, 0x_fF, 0b1, 0o17, 1., .5, 1e3, 1_0.0_1e-1_0, 00, 1 if x else 2
"\\n\\t\\x41\\u0041\\U00000041\\101\\0\\
z"
a = yield_
x = *a, *b
for x in *a, b: pass
for x, in y: break
for (x.a, [y, *z]) in w:
    continue
else:
    pass
while x: break
while (x := f()):
    y
else:
    z
if a: b
elif c: d; e
else: f
with a, b as c, d as (e, f): pass
with (a as b, c): pass
with (a, b) as c: pass
with (a): pass
with (yield_): pass
with (a, b): pass
with (a for b in c): pass
with a() as b.c, d as e[0]: pass
with ((a, b)): pass
try: a
finally: b
try:
    a
except:
    b
try:
    a
except (A, B) as e:
    b
except C: c
else:
    d
finally:
    e
def f(): pass
def f(a: int, b: "T" = 1, /, c=2, *d: E, e: F = 3, g, **h: I) -> J: return
def f(a, b=1, *, c): return *a, b
@d
@e.f(1)
def g():
    x = yield
    y = yield 1, 2
    z = yield from w
    await_ = (yield)
    yield *a, b
    global m, n
    def h():
        nonlocal x
        return
class A: x = 1
@d
class B(A, metaclass=M, *c, **d):
    '''doc'''
    def f(self): return super().f()
if True:
    # comment

    x = 1
  # comment
    y = 2
x = [
    1,
# comment
  2]
x = 1 + \\
    2
é = "ü" + ñ; x = é
match = type = case = _ = print
match[0] = type(x)
match.x
"""


def snippets():
    """Yield each statement of SNIPPETS with the lines that belong to it."""
    text = SNIPPETS.lstrip("\n")
    lines = text.split("\n")
    for node in ast.parse(text).body:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        yield "\n".join(lines[first - 1 : node.end_lineno])


@pytest.mark.parametrize("text", sorted(set(snippets())))
def test_each_construct(text):
    same_as_python(text)


def test_all_constructs_at_once():
    text = SNIPPETS.replace("\\", "\\").lstrip("\n")
    assert dump(to_ast(parse(Source("test", text), {}))) == dump(ast.parse(text))


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_real_scripts(path):
    same_as_python(path.read_text(encoding="utf-8"))


def test_there_are_real_scripts():
    assert len(REAL) > 50


@pytest.mark.parametrize("text", ["e\u0301 = a\u0301b", "ﬁ = 1; fi", "aſ = 2", "ªº", "µ·x"])
def test_letters_beyond_ascii(text):
    same_as_python(text)


@pytest.mark.parametrize("text", ["ำ", "²", "a²", "\u0301", "x = ½"])
def test_characters_that_are_no_letters(text):
    assert not we_accept(text)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", ["1if x else 2", "x = '\\d\\{'", "[0x1for x in y]", "f'\\{x}'", "1or 2", "(1)()"])
def test_what_python_warns_of(text):
    same_as_python(text)


def test_windows_line_ends_and_form_feeds():
    program = parse(Source("t", "if x:\r\n    y = '''a\r\nb'''\r\n"), {})
    assert dump(to_ast(program)) == dump(ast.parse("if x:\n    y = '''a\nb'''\n"))
    same_as_python("x = 1\n\f\ny = 2\n")


# programs made at random, as text, so that blanks and brackets vary

names = st.sampled_from(["x", "y", "loss", "w1", "_a", "torch", "self", "é"])
blank = st.sampled_from(["", " ", " ", "  "])
literals = st.sampled_from(
    ["0", "1", "2.5", "1e-3", "0x1F", "1_000", "'s'", '"t"', "r'\\d'", "'''u\nv'''", "None", "True", "...", "'a' \"b\""]
)
BINARY = ["+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "|", "^", " and ", " or ", "==", "!=", "<", ">=",
          " in ", " not in ", " is ", " is not "]  # fmt: skip


def joined(parts, separator=", "):
    return separator.join(parts)


def compound(inner):
    pair = st.tuples(inner, inner)
    some = st.lists(inner, max_size=3)
    return st.one_of(
        st.tuples(inner, blank, st.sampled_from(BINARY), blank, inner).map("".join),
        st.tuples(st.sampled_from(["-", "+", "~", "not "]), inner).map("".join).map("({})".format),
        inner.map("({})".format),
        st.tuples(inner, names).map(lambda pair: f"({pair[0]}).{pair[1]}"),
        st.tuples(names, some).map(lambda pair: f"{pair[0]}({joined(pair[1])})"),
        st.tuples(names, inner, names, inner).map(lambda p: f"{p[0]}({p[1]}, *{p[2]}, {p[2]}=({p[3]}), **{p[0]})"),
        pair.map(lambda p: f"({p[0]})[{p[1]}]"),
        pair.map(lambda p: f"x[({p[0]}):({p[1]}), ...]"),
        some.map(lambda p: f"[{joined(p)}]"),
        some.map(lambda p: f"({joined(p)},)" if p else "()"),
        pair.map(lambda p: f"{{({p[0]}): {p[1]}}}"),
        pair.map(lambda p: f"{{{p[0]}, {p[1]}}}"),
        st.tuples(inner, names, inner, inner).map(lambda p: f"[{p[0]} for {p[1]} in ({p[2]}) if ({p[3]})]"),
        st.tuples(inner, names, inner).map(lambda p: f"sum({p[0]} for {p[1]}, *b in ({p[2]}))"),
        st.tuples(inner, inner, inner).map(lambda p: f"(({p[0]}) if {p[1]} else ({p[2]}))"),
        st.tuples(names, inner).map(lambda p: f"(lambda {p[0]}, b=1, *c: {p[1]})"),
        st.tuples(names, inner).map(lambda p: f"({p[0]} := ({p[1]}))"),
        names.map(lambda name: f'f"a{{{name}}}b{{{name}!r:>{{{name}}}}}{{{name} = }}"'),
    )


expressions = st.recursive(names | literals, compound, max_leaves=12)
targets = st.sampled_from(["x", "x.y", "x[0]", "x, y", "(x, *y)", "[a, (b, c)]", "x[1:2].grad"])
simple = st.one_of(
    expressions,
    st.tuples(targets, blank, st.just("="), blank, expressions).map("".join),
    st.tuples(st.sampled_from(["x", "x.y", "x[0]"]), st.sampled_from(["+=", "@=", "**=", ">>="]), expressions).map(" ".join),
    st.tuples(st.just("x: int ="), expressions).map(" ".join),
    st.tuples(st.just("del"), targets.filter(lambda target: "*" not in target)).map(" ".join),
    st.tuples(st.just("assert"), expressions).map(" ".join),
    st.sampled_from(["pass", "import torch.nn as nn", "from torch import nn, optim as o", "raise E from e"]),
)


def blocks(inner):
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join).map(indented)
    head = st.one_of(
        expressions.map("if {}:".format),
        expressions.map("while ({}):".format),
        st.tuples(targets, expressions).map(lambda pair: f"for {pair[0]} in ({pair[1]}):"),
        st.tuples(expressions, names).map(lambda pair: f"with ({pair[0]}).f() as {pair[1]}:"),
        st.sampled_from(["def f(a, b=1, *c, d: int = 2, **e) -> x:", "class A(nn.Module):", "@d\ndef g():"]),
    )
    return st.one_of(
        st.tuples(head, body).map("\n".join),
        st.tuples(expressions, body, body).map(lambda p: f"if {p[0]}:\n{p[1]}\nelif x:\n{p[2]}\nelse:\n{p[1]}"),
        st.tuples(body, body).map(lambda p: f"try:\n{p[0]}\nexcept (A, B) as e:\n{p[1]}\nelse:\n{p[1]}\nfinally:\n{p[0]}"),
    )


def indented(text):
    """Indent the lines of a block, those inside a string excepted."""
    lines, quoted = [], False
    for line in text.split("\n"):
        lines.append(line if quoted else f"    {line}")
        quoted ^= line.count("'''") % 2 == 1
    return "\n".join(lines)


programs = st.lists(st.recursive(simple, blocks, max_leaves=6), min_size=1, max_size=4).map("\n".join)


@settings(max_examples=draws(250), deadline=None)
@given(expressions)
def test_random_expressions(text):
    same_as_python(text)


@settings(max_examples=draws(120), deadline=None)
@given(programs)
def test_random_programs(text):
    same_as_python(text)


# real scripts with a token taken out, put in or moved: both parsers must say yes, or both no

MUTATIONS = [
    "(", ")", "[", "]", "{", "}", ":", ",", "=", "==", "+", "*", "**", ".", "not", "in", "if", "else", "for", "lambda", "return",
    "del", "x", "1", "'s'", "\n", "    ", ";", ":=", "import", "as", "with", "try:", "and", "~", "def", "None",
]


def python_accepts(text):
    try:
        compile(text, "test", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def we_accept(text):
    try:
        parse(Source("test", text), {})
    except ProblemError:
        return False
    return True


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(4))
def test_mutated_scripts_are_judged_as_python_judges_them(seed):
    source = random.Random(seed)
    for _ in range(100):
        text = source.choice(REAL).read_text(encoding="utf-8")
        at = source.randrange(len(text))
        piece = source.choice(["", *MUTATIONS])
        text = text[:at] + f" {piece} " * bool(piece) + text[at + source.choice([0, 1, 3]) :]
        assert python_accepts(text) == we_accept(text), text


def test_a_tree_is_equal_to_itself_only():
    left, right, other = (statements(text)[0] for text in ["x = 1", "x  =  1", "x = 1.0"])
    assert left == right
    assert left != other
    assert repr(left) == "Assign(targets=[Name(id='x')], value=Constant(value=1))"
    assert statements("x = True")[0] != left


def test_the_depth_of_a_text_does_not_depend_on_the_caller():
    limit = sys.getrecursionlimit()

    def deep(levels):
        return deep(levels - 1) if levels else statements("[" * 150 + "]" * 150)

    assert deep(limit - 300)
    assert sys.getrecursionlimit() == limit
