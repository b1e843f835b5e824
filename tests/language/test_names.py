"""What a tree may declare global or nonlocal, by Python's rules."""

import symtable

import pytest
from language_samples import GRAMMARS

from gradsh.language.parser import parse
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source


def program(text):
    return parse(Source("test", text), GRAMMARS)


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
