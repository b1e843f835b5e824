"""Whether the prompt waits for more lines."""

import pytest
from language_samples import GRAMMARS

from gradsh.language.parser import is_complete


@pytest.mark.parametrize(
    "text",
    ["", "# only a comment", "x = 1", "x = 1\n", "f(1,\n2)", "if x: y\n", "if x:\n    y\n", "if x:\n    y\nz = 1",
     "def f():\n  return 1\n\n",
     "try:\n  x\nexcept A:\n  y\n", "backward z --retain", "graph", "x = '''a\nb'''", "time x.sum()", "x = 1 + \\\n2",
     "class A:\n  def f(self):\n    pass\n", "if x:\n  y = (1,\n2)\n", "time for i in x:\n  y\n"],
)
def test_complete(text):
    assert is_complete(text, GRAMMARS) is True


@pytest.mark.parametrize(
    "text",
    ["x = (", "f(1,\n2", "[\n", "{'a':", "if x:", "if x:\n    y", "if x: y", "def f():\n", "class A:\n  def f(self):\n    pass",
     "try:\n  x\n", "try:\n  x\nfinally:", "@d", "@d\n", "x = '''a\nb", 'f"""{x}', "x = 1 + \\", "x = 1 + \\\n", "'abc\\", "backward (z",
     "for i in x:\n  # nothing yet", "if x:\n  a\nelse:\n", "if x:\n  y = (1,\n2)", "time for i in x:", 'print("""a'],
)
def test_more_is_needed(text):
    assert is_complete(text, GRAMMARS) is False


@pytest.mark.parametrize(
    "text",
    ["x = )", "x = 1 +", "'abc", "if x\n", "f(1 2", "x = (1 2\n", "  x", "backward", "else:", "f'{", "a b", "for i", "x = (]", "if x:\ny"],
)
def test_more_does_not_help(text):
    problem = is_complete(text, GRAMMARS)
    assert not isinstance(problem, bool)
    assert problem.kind == "syntax"


def test_the_session_s_names_count():
    assert is_complete("graph +", GRAMMARS) is not True
    assert is_complete("graph + 1", GRAMMARS, {"graph"}) is True
