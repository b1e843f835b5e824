"""Which names a tree reads and binds, by Python's rules."""

import symtable

import pytest
from language_samples import GRAMMARS

from gradsh.language.names import bound_names, free_names
from gradsh.language.parser import parse
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source


def program(text):
    return parse(Source("test", text), GRAMMARS)


@pytest.mark.parametrize(
    ("text", "free", "bound"),
    [
        ("x = y + f(z)", {"y", "f", "z"}, {"x"}),
        ("x += 1", {"x"}, {"x"}),
        ("def f(a, b=c, *d): return a + e + len(d)", {"c", "e", "len"}, {"f"}),
        ("def f():\n  x = 1\n  def g():\n    return x + y\n  return g", {"y"}, {"f"}),
        ("def f():\n  global n\n  n = m", {"m"}, {"f", "n"}),
        ("[a + b for a in c if d]", {"b", "c", "d"}, set()),
        ("[a for a in b for c in a]", {"b"}, set()),
        ("x = [(y := a) for a in b]", {"b"}, {"x", "y"}),
        ("lambda x, y=z: x + w", {"z", "w"}, set()),
        ("class A(B):\n  n = m\n  def f(self): return n", {"B", "m", "n"}, {"A"}),
        ("for i, (a.b, c[d]) in e: pass", {"a", "c", "d", "e"}, {"i"}),
        ("import a.b, c as d\nfrom e import f as g, h", set(), {"a", "d", "g", "h"}),
        ("try: a\nexcept E as e: b", {"a", "E", "b"}, {"e"}),
        ("with a as b: c", {"a", "c"}, {"b"}),
        ("backward z --grad ones(2) --inputs a b", {"z", "ones", "a", "b"}, set()),
        ("time x = f(y)", {"f", "y"}, {"x"}),
        ("f'{x:{w}} {y!r}'", {"x", "w", "y"}, set()),
        ("del x", set(), {"x"}),
        ("x: T = y", {"y"}, {"x"}),
        ("@d\ndef f(a: T) -> U: pass", {"d"}, {"f"}),
        ("+".join(["a"] * 10_000), {"a"}, set()),
    ],
)
def test_free_and_bound_names(text, free, bound):
    tree = program(text)
    assert set(free_names(tree)) == free
    assert set(bound_names(tree)) == bound


def test_places_are_those_of_the_first_use():
    assert tuple(free_names(program("x = 1\ny = x + z\nz"))["z"]) == (2, 9, 2, 10)


@pytest.mark.parametrize(
    "text",
    ["def f():\n  x = 1\n  global x", "def f():\n  print(x)\n  global x", "def f(x):\n  global x", "def f(x):\n  nonlocal x",
     "def f():\n  nonlocal x", "x = 1\ndef f():\n  nonlocal x", "def f():\n  global x\n  def g():\n    nonlocal x",
     "def f():\n  x = 1\n  def g():\n    nonlocal x\n    global x", "class A:\n  x = 1\n  def f(self):\n    nonlocal x",
     "def f():\n  for x in y: pass\n  def g():\n    nonlocal x", "def f(x):\n  class A:\n    nonlocal x\n    x = 1",
     "def f():\n  x = 1\n  def g():\n    def h():\n      nonlocal x", "global x\nx = 1", "x = 1\nglobal x",
     "def f():\n  global x\n  x = 1\n  global x",
     "def f():\n  import x\n  global x", "def f():\n  def x(): pass\n  global x", "def f():\n  global x; global x"],
)
def test_declarations_are_judged_as_python_judges_them(text):
    try:
        symtable.symtable(text, "test", "exec")
        python = True
    except SyntaxError:
        python = False
    try:
        program(text)
        ours = True
    except ProblemError:
        ours = False
    assert ours == python
