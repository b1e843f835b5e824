"""What people paste becomes a program with as many lines."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradsh.language.paste import clean
from tests.sweep import draws

PASTED = [
    ("x = 1\n", "x = 1\n", []),
    (">>> x = 1\n>>> x\n1\n", "x = 1\nx\n\n", ["prompts"]),
    (">>> def f():\n...     return 1\n...\n>>> f()\n1", "def f():\n    return 1\n\nf()\n", ["prompts"]),
    (">>> for i in x:\n...\ty\n... \n>>>\n>>> z", "for i in x:\n\ty\n\n\nz", ["prompts"]),
    ("In [1]: x = 1\n\nIn [2]: if x:\n   ...:     y\n   ...: \nOut[2]: 3\n", "x = 1\n\nif x:\n    y\n\n\n", ["prompts"]),
    ("grad> x = ones(2)\ngrad> x\ntensor([1., 1.])\ngrad> graph x", "x = ones(2)\nx\n\ngraph x", ["prompts"]),
    ('Python 3.11.7 (main)\n[GCC 12]\nType "help"\n>>> x', "\n\n\nx", ["prompts"]),
    ("    >>> x\n    1", "x\n", ["prompts"]),
    ("```python\nx = 1\n```", "\nx = 1\n", ["Markdown"]),
    ("Look:\n\n```python\nx = 1\n```\nIt fails.", "\n\n\nx = 1\n\n", ["text around"]),
    ('"""\n```python\nx = 1\n```\n"""\nx = 2', '"""\n```python\nx = 1\n```\n"""\nx = 2', []),
    ("x = 1\n```\nIt fails", "x = 1\n\nIt fails", ["Markdown"]),
    (">>>x = 1\n>>>x\n1", "x = 1\nx\n", ["prompts"]),
    ("%matplotlib inline\n!pip install x\n%%time\ny = 7\n", "\n\n\ny = 7\n", ["notebook"]),
    ("y = (x\n  %time2)\nz = x\\\n  % y\n", "y = (x\n  %time2)\nz = x\\\n  % y\n", []),
    ("s = '''\n!ls\n%time\n'''\n", "s = '''\n!ls\n%time\n'''\n", []),
    ("    s = '''a\n  b\n'''\n    s\n", "s = '''a\n  b\n'''\ns\n", ["share"]),
    ("  x = 1\n  if x:\n    y\n", "x = 1\nif x:\n  y\n", ["share"]),
    ("    x = 1\n# a note\n    y\n", "x = 1\n# a note\ny\n", ["share"]),
    ("\tx\n\ty\n", "x\ny\n", ["share"]),
    ("if x:\n  y\n", "if x:\n  y\n", []),
    ("if x:\n\ta\n        b\n", "if x:\n        a\n        b\n", ["read as 8"]),
    ("def f():\n\tx = 1\n    return x\n", "def f():\n    x = 1\n    return x\n", ["read as 4"]),
    ("if x:\n\ta\n\tb\n", "if x:\n\ta\n\tb\n", []),
    ("x\xa0=\xa01", "x = 1", ["blanks"]),
    ("x = 1\u200b", "x = 1", ["blanks"]),
    ("print(“a”, ‘b’)", "print(\"a\", 'b')", ["quotes"]),
    ('print(“it’s a "b"”)', 'print("it’s a \\"b\\"")', ["quotes"]),
    ("x = 1 – 2", "x = 1 - 2", ["characters"]),
    ("s = 'a – “b”\xa0'  # “c”", "s = 'a – “b”\xa0'  # “c”", []),
    ('"""\n“a”\n"""', '"""\n“a”\n"""', []),
    ("x = 1 + \\  \n2", "x = 1 + \\\n2", ["backslash"]),
    ("x = 1 \\", "x = 1 ", ["backslash"]),
    ("x = 1 + \\", "x = 1 + \\", []),
    ("\ufeffx = 1\r\ny = 2\r", "x = 1\ny = 2\n", []),
    ("x = '''\n>>> y\n'''", "x = '''\n>>> y\n'''", []),
    ("x = a >> b\n... ", "x = a >> b\n... ", []),
]


@pytest.mark.parametrize(("text", "expected", "notes"), PASTED, ids=[repr(row[0])[:30] for row in PASTED])
def test_pasted_texts(text, expected, notes):
    cleaned, told = clean(text)
    assert cleaned == expected
    assert len(told) == len(notes)
    assert all(note in sentence for note, sentence in zip(notes, told, strict=True))


@settings(max_examples=draws(200), deadline=None)
@given(st.text(alphabet="ax=1 \t\n\r>.:'\"“”’\xa0\\#`-–()[]In", max_size=60))
def test_the_number_of_lines_stays(text):
    given_lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    assert clean(text)[0].count("\n") == given_lines


@settings(max_examples=draws(200), deadline=None)
@given(st.lists(st.sampled_from(["x = 1\n", "if x:\n    y = '“'\n", "# “c”\n", "\n", "z = x >> 2\n", "s = '''\n  a\n'''\n"]), max_size=8))
def test_programs_stay_as_they_are(lines):
    text = "".join(lines)
    ast.parse(text)
    assert clean(text) == (text, [])
