"""Texts that nobody should give to gradsh: mutated real scripts, tokens shaken together, Python that the language refuses.

Every generator draws from one object with the methods of `random.Random`, so that hypothesis (`st.randoms()`), a seeded
run of thousands and the harnesses in `fuzz/` share them.
"""

from functools import lru_cache
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]

TOKENS = """
x y z w net loss opt i n f A self t1 e __class__ __init__ __dict__ _ 1 0 2.5 1e400 0x 1_0 1__0 0b12 09 1j 10**12 9999999999999999999999
-1 'a' "b" ''' \"\"\" ' " f' f" f''' rb' b'' u'' { } ( ) [ ] {{ }} : , . ... = == := += -= **= //= @ @= -> <> != < >= ~ ! !r % & | ^ << >>
* ** / // \\ ; # #> #! #/ #>> #@ if else elif for in while def class lambda return yield del global nonlocal import from as with try except
finally not and is async await match case print assert raise pass break continue None True False backward graph buffers retain release
memory holders leaks diff why check vars watch undo redo tour time history save load reset set quit help explain expect error plan
--retain --grad --inputs --depth --format --output --free --off tensor ones zeros torch nn optim range len sum list dict tuple int str
requires_grad= .backward() .grad .sum() .item() .data .shape .T [0] [-1] [:] [::0] [...] (1,) {} () [] no_grad() type super object
Exception RuntimeError math itertools numpy np
""".split()  # fmt: skip

BLANKS = (" ", "  ", "\n", "\n    ", "\n\t", "\t", "\r", "\r\n", "\f", "\v", "\\\n", ";", "", "\n\n", "\n  ")

STRANGE = (
    "\x00", "\x1b[31m", "\ufeff", "\ud800", "\udfff", "\u202e", "\u2066", "\u0301", "\u200b", "\u2028", "\x85", "\x1c", "\x0c", "\x7f", "\xa0", "\xad",
    "é", "ſ", "ﬁ", "Ａ", "µ", "²", "١", "“", "”", "‘", "−", "…", "→", "（", "；", "😀", "\U000e0001", "\x08", "$", "?", "`", "€", "𝐱", "ª", "ı", "\x04", "\x1a",
)  # fmt: skip

REFUSED = (
    "async def f(): await g()", "match x:\n    case [1, *rest] if rest: pass\n    case {'a': 1, **k} | A(b=2): pass\n    case _: pass",
    "def f[T](x: T) -> T: return x", "type X = int", "class A[T](B, metaclass=M): pass", "try: x\nexcept* ValueError: pass",
    "import os", "from os import path", "import torch.cuda as c", "from . import x", "from torch import *", "import torch, numpy as np",
    "exec('1')", "eval('1')", "open('x')", "__import__('os')", "().__class__.__bases__", "globals()", "print(1, file=2)", "type('A', (), {})",
    "x: int", "x: list[int] = [1]", "def f(a, /, b, *, c: int = 3, **k) -> int: ...", "lambda *a, b=1, **k: (a, b, k)",
    "(y := 1)", "[y := i for i in range(3)]", "f(a:=1)", "x = yield", "def f(): x = yield from g()", "def f():\n    return (yield)",
    "@a.b(c)[0]\ndef f(): pass", "@(lambda f: f)\nclass A: pass", "del x, y[0], (a.b, [c])", "global x", "def f():\n    nonlocal x",
    "a, *b, c = range(5)", "*a, *b = 1", "[*a, *b], {**c, **d}", "f(*a, *b, **c, **d)", "f(**a, *b)", "f(a=1, a=2)", "f(a for a in b, c)", "f(a=1, 2)",
    "for x in y: pass\nelse: pass", "while 0: pass\nelse: x", "with a as b, c as (d, e): pass", "with (a as b, c as d,): pass", "try: pass\nfinally: pass",
    "try: pass", "if x:", "x = (\n", "x = [1,\n", "class A:\n  def f(self):\n  return", "'abc", '"""', "f'{x", "f'{x!r:{y:{z}}}'", "f'{x:{y!z}}'", "f'{\\'a\\'}'",
    "f'{x=!s:>{w}}'", "f'{lambda x: 1}'", "f'{*a}'", "f'{}'", "f'}'", "f'{{}'", "rb'\\xff'", "b'é'", "'\\N{no such}'", "'\\x1'", "'\\u12'", "'\\400'",
    "0777", "1_", "0x_", "1e", "1.e5.2", "1if 1else 2", "1_000.0_1e1_0j", "0b2", "1..real", "x = 1 if 2", "a if b else", "not", "a not b", "a is not not b",
    "print 'x'", "print >>f, x", "raise E, 'x'", "except:", "a <> b", "`x`", "x++", "--x", "a ? b : c", "a && b", "!x", "x = = 1", "=", "1 = x", "f() = 1",
    "None = 1", "x.None", "[x, 1] = y", "(x, y) += 1", "x = y = ", "del f()", "del 1", "return", "break", "continue", "yield", "await x", "a.b.c = d[e:f:g, ::, ...] = h",
    "lambda: (yield)", "class A: return 1", "def f(x, x): pass", "def f(a=1, b): pass", "def f(*): pass", "def f(**k, a): pass", "def f(a, /, /): pass",
    "assert (1, 2)", "assert x, y, z", "import a.b.c.", "from x import (", "from x import a as", "import *", "x[", "x[]", "x[1:2:3:4]", "x.", ".x", "x..y", "@", "->",
    "if x = 1: pass", "while x := f(): pass", "for 1 in x: pass", "for x in: pass", "for x y: pass", "def 1(): pass", "class 1: pass", "def f: pass", "def f()",
    "else: pass", "elif x: pass", "finally: pass", "except E as 1: pass", "pass pass", "1 2", "x y", "x\n  y", "if x:\ny", "if x:\n\ty\n        z",
    "#@ seed=x", "#@ rtol=1e-4 seed=0x", "#> nothing above", "x = 1  #@param", "#! announced", "#>> file", "#/ (a+)+$ /", "%matplotlib inline", "!pip install x", "```python\nx\n```",
    ">>> x = 1\n1", "In [1]: x\nOut[1]: 1", "$ gradsh", "<html>", "{'cells': []}", "PK\x03\x04", "\x89PNG\r\n", "#!/usr/bin/env gradsh", "-*- coding: utf-16 -*-",
)  # fmt: skip

DEEP = ("(", "[", "{", "-", "not ", "f'{", "lambda: ", "x if y else ", "x[", "f(", "x.", "x+", "x**", "x and ", "x,", "x=", "x<", "~", "*", "await ", "if x:\n ", "'", '"""', "\\\n",
        "class A: ", "def f(): ", "@a\n", "time ", "expect error: ", "{1:", "{**", "x:=", "x;", "{{", "\t", "\n", "0", "9", "_", "1e", "1_", "#", "..", "with x:\n ", "graph ", "a=lambda *b,c=",
        "print(", "str(", "[x for x in ", "f'{x:{", "f'''{\n", "é", "\u0301", "\x00")  # fmt: skip

EXPRESSIONS = (
    "x", "x.grad", "x.sum()", "1", "-1", "0", "2**62", "2**63", "-2**63", "10**30", "1.5", "float('nan')", "float('inf')", "1j", "True", "None", "''", "'a'", "'%s'", "'{}'", "b'a'",
    "()", "[]", "{}", "(1, 2)", "[1, 2]", "[[1], [2, 3]]", "{'a': 1}", "{1, 2}", "range(3)", "range(10**15)", "slice(None)", "...", "lambda *a, **k: a", "print", "int", "object()", "type", "Exception",
    "ones(2)", "zeros(0)", "tensor(1.)", "tensor([1, 2])", "tensor(True)", "tensor([], dtype=torch.int64)", "ones(2, 3, requires_grad=True)", "torch.float64", "torch.int32",
    "torch.nan", "torch", "nn", "nn.Linear(2, 3)", "torch.Size([2])", "torch.device('cpu')", "torch.Generator()", "y", "net", "opt", "f", "A", "A()", "self", "i", "e", "iter([1])", "(i for i in range(3))", "map(int, '12')",
    "np.float32(1)", "np.ones(2)", "x.grad_fn", "x.shape", "x.dtype", "torch.no_grad()", "NotImplemented", "super()", "super", "__name__", "property(len)", "staticmethod(len)", "'a' * 1000", "[0] * 1000", "-0.0", "1e308",
)  # fmt: skip

METHODS = """
backward sum mean view reshape item tolist detach clone numpy size dim grad T add_ mul_ zero_ copy_ fill_ retain_grad register_hook requires_grad_ to float long
expand repeat unsqueeze squeeze transpose permute index_select gather scatter_ masked_fill topk sort max min argmax std norm softmax chunk split stride data __len__
__getitem__ __add__ __class__ format join append pop keys items update sort extend weight parameters zero_grad step state_dict load_state_dict apply named_parameters
add_module register_forward_hook register_full_backward_hook train eval cpu cuda element_size storage_offset as_strided set_ unfold narrow diagonal triu cumsum prod any all
nonzero where unique bincount histc bmm mm matmul dot einsum cat stack pad one_hot conv2d embedding cross_entropy linspace arange eye full rand randn randint manual_seed
multinomial bernoulli normal_ uniform_ grad_fn next_functions _version is_leaf layer_norm batch_norm dropout relu sigmoid tanh exp log pow sqrt clamp abs sign floor round
""".split()  # fmt: skip

STATEMENTS = (
    "x = {e}", "y = {e} {o} {e}", "x {o}= {e}", "{e}.{m}({e})", "{e}.{m}({e}, {e})", "{e}.{m}()", "{e}.{m}", "{e}[{e}]", "{e}[{e}] = {e}", "{e}.{m} = {e}", "{e}({e})", "{e}({e}, {e}, a={e})", "del {e}[{e}]",
    "torch.{m}({e})", "torch.{m}({e}, {e})", "torch.{m}({e}, {e}, {e})", "torch.nn.functional.{m}({e}, {e})", "nn.{m}({e})", "for i in {e}: {s}", "while {e}:\n    {s}\n    break", "if {e}: {s}", "with {e} as y: {s}",
    "try: {s}\nexcept {e} as e: print(e)", "try: {s}\nfinally: {s}", "def f(*a, **k): {s}", "f({e})", "class A:\n    def {d}(self, *a): return {e}", "print({e})", "print(f'{{{e}!r:{t}}}')", "'{t}' % {e}", "'{{:{t}}}'.format({e})",
    "{e} {c} {e}", "assert {e}, {e}", "raise {e}", "raise {e} from {e}", "x, *y = {e}", "x = [{e} for i in {e} if {e}]", "x = {{{e}: {e}}}", "x = {{*{e}}}", "int({e})", "float({e})", "str({e})", "list({e})", "len({e})", "sum({e}, {e})",
    "sorted({e})", "max({e}, {e})", "isinstance({e}, {e})", "getattr({e}, '{m}')", "setattr({e}, '{m}', {e})", "hasattr({e}, {e})", "zip({e}, {e})", "dict({e})", "enumerate({e}, {e})", "round({e}, {e})", "pow({e}, {e}, {e})",
    "x = ones(2, requires_grad=True)\ny = x * {e}\ny.backward({e})", "tensor({e})", "tensor({e}, dtype={e})", "torch.autograd.grad({e}, {e})", "nn.Sequential({e}, {e})", "opt = torch.optim.SGD({e}, lr={e})\nopt.step()",
    "graph {e}", "backward {e} --grad {e}", "buffers {e}", "why {e}", "check {e}", "time {s}", "expect error: {s}", "retain {e}", "release {e}", "holders {e}", "watch {e}", "plan {e}", "diff", "memory", "leaks", "vars", "undo", "set {m} {e}",
    "import {m}", "from torch import {m}", "from {m} import {m} as x", "global x", "return {e}", "yield {e}", "lambda x={e}: {e}", "x: {e} = {e}", "(x := {e})", "{e} if {e} else {e}", "class A({e}): x = {e}", "@{e}\ndef f(x): {s}",
)  # fmt: skip

OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^")
COMPARISONS = ("==", "<", ">=", "in", "not in", "is", "is not", "and", "or", "!=")
SPECIALS = """
__init__ __repr__ __str__ __eq__ __hash__ __len__ __getitem__ __setitem__ __iter__ __next__ __bool__ __call__ __enter__ __exit__ __add__ __radd__ __mul__ __rmul__
__iadd__ __neg__ __float__ __int__ __index__ __format__ __getattr__ __setattr__ __get__ __set__ __contains__ __lt__ __del__ __new__ __class_getitem__ __init_subclass__
__set_name__ __missing__ __reversed__ __abs__ __round__ __torch_function__ __array__ forward backward
""".split()  # fmt: skip
FORMATS = ("", "d", "5", ">1000000000", ".2f", "s", "{", "}", "%", "c", "10**", ",", "_", "\x00", ".99999f", "!r", "*^9", "n", "e", "x", "#x", "08.3f", "%s", "{0.__class__}", "{!r}", "(a)s", "*d", "s%", "{}{}", "{0[a]}")


@lru_cache(maxsize=1)
def corpus() -> tuple[str, ...]:
    """Return the real scripts: scenarios, recorded situations, programs of the twin tests, blocks of the documents."""
    files = [*ROOT.glob("scripts/*.grad"), *ROOT.glob("tests/oracle/real/*.py"), *ROOT.glob("tests/parity/snippets/*.py")]
    texts = [file.read_text(encoding="utf-8") for file in sorted(files)]
    for page in sorted(ROOT.glob("docs/*.md")):
        texts += page.read_text(encoding="utf-8").split("```")[1::2]
    return tuple(texts)


class Hostile:
    """Makes hostile texts out of what a source of random numbers draws."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def program(self) -> str:
        """Return the text of a script, or of what somebody takes for one."""
        kind = self.random.randrange(10)
        if kind < 3:
            return self.mutated(self.piece_of_corpus())
        if kind < 7:
            return self.statements()
        if kind == 7:
            return self.shaken()
        if kind == 8:
            return self.mutated("\n".join(self.random.choice(REFUSED) for _ in range(self.random.randint(1, 3))))
        return self.deep()

    # ------------------------------------------------------------------ from real scripts

    def piece_of_corpus(self) -> str:
        """Return the beginning of a real script, or some lines of it."""
        lines = self.random.choice(corpus()).split("\n")
        first = 0 if self.random.random() < 0.6 else self.random.randrange(len(lines))
        return "\n".join(lines[first : first + self.random.randint(1, 30)])

    def mutated(self, text: str) -> str:
        """Return a text with a few edits."""
        edits = (self._delete, self._double, self._swap, self._insert, self._strange, self._line, self._indent, self._cut, self._token, self._ends)
        for _ in range(self.random.randint(0, 4)):
            text = self.random.choice(edits)(text)
        return text

    def _place(self, text: str) -> int:
        return self.random.randint(0, len(text))

    def _delete(self, text: str) -> str:
        at = self._place(text)
        return text[:at] + text[at + self.random.choice((1, 1, 2, 5, 20)) :]

    def _double(self, text: str) -> str:
        at = self._place(text)
        piece = text[at : at + self.random.choice((1, 3, 10, 80))]
        return text[:at] + piece * self.random.choice((2, 3, 50)) + text[at:]

    def _swap(self, text: str) -> str:
        at, by = self._place(text), self.random.choice((1, 2, 8))
        return text[:at] + text[at + by : at + 2 * by] + text[at : at + by] + text[at + 2 * by :]

    def _insert(self, text: str) -> str:
        at = self._place(text)
        return text[:at] + self.random.choice((*TOKENS, *BLANKS)) + text[at:]

    def _strange(self, text: str) -> str:
        at = self._place(text)
        return text[:at] + self.random.choice(STRANGE) + text[at:]

    def _line(self, text: str) -> str:
        lines = text.split("\n")
        one, other = self.random.randrange(len(lines)), self.random.randrange(len(lines))
        what = self.random.randrange(4)
        if what == 0:
            del lines[one]
        elif what == 1:
            lines.insert(other, lines[one])
        elif what == 2:
            lines[one], lines[other] = lines[other], lines[one]
        else:
            lines.insert(one, self.random.choice(REFUSED))
        return "\n".join(lines)

    def _indent(self, text: str) -> str:
        lines = text.split("\n")
        at = self.random.randrange(len(lines))
        lines[at] = self.random.choice(("", " ", "\t", "    ", "  \t", "\f", "\xa0 ")) + lines[at].lstrip()
        return "\n".join(lines)

    def _cut(self, text: str) -> str:
        return text[: self._place(text)] if self.random.random() < 0.7 else text[self._place(text) :]

    def _token(self, text: str) -> str:
        words = text.split(" ")
        words[self.random.randrange(len(words))] = self.random.choice(TOKENS)
        return " ".join(words)

    def _ends(self, text: str) -> str:
        return text.replace("\n", self.random.choice(("\r\n", "\r", "\n\n", "\f\n", " \\\n", "\u2028", ";")))

    # ------------------------------------------------------------------ from nothing

    def shaken(self) -> str:
        """Return tokens in no order."""
        count = self.random.randint(1, 25)
        blanks = BLANKS if self.random.random() < 0.3 else (" ", "", " ", "\n")
        return "".join(self.random.choice(TOKENS) + self.random.choice(blanks) for _ in range(count))

    def deep(self) -> str:
        """Return what nests, or is long, without end."""
        piece, count = self.random.choice(DEEP), self.random.choice((3, 50, 101, 201, 1500, 20_000))
        text = self.random.choice(("", "x = ", "f(", "for i in x: ")) + piece * count + self.random.choice(("", "x", "1", "pass"))
        closing = {"(": ")", "[": "]", "{": "}", "f(": ")", "x[": "]", "print(": ")", "str(": ")"}.get(piece, "")
        return text + closing * self.random.choice((0, count, count - 1, count + 1))

    def statements(self) -> str:
        """Return statements that parse, mostly, and make little sense."""
        before = self.random.choice(("", "x = ones(2, requires_grad=True)\ny = x * 2\n", "import numpy as np\nnet = nn.Linear(2, 2)\nx = ones(1, 2)\ny = net(x).sum()\n"))
        return before + "\n".join(self.statement(2) for _ in range(self.random.randint(1, 6)))

    def statement(self, depth: int) -> str:
        """Return one statement; at most `depth` others stand in each other."""
        text = self.random.choice(STATEMENTS)
        choices = {"{e}": self._expression, "{o}": lambda: self.random.choice(OPERATORS), "{c}": lambda: self.random.choice(COMPARISONS),
                   "{m}": lambda: self.random.choice(METHODS), "{d}": lambda: self.random.choice(SPECIALS), "{t}": lambda: self.random.choice(FORMATS),
                   "{s}": lambda: self.statement(depth - 1).replace("\n", "; ") if depth else "pass"}  # fmt: skip
        parts: list[str] = []
        at = 0
        while at < len(text):
            piece = text[at : at + 3]
            if piece in choices:
                parts.append(choices[piece]())
                at += 3
            else:
                parts.append(text[at])
                at += 1
        return "".join(parts).replace("{{", "{").replace("}}", "}") if "{{" in text else "".join(parts)

    def _expression(self) -> str:
        return self.random.choice(EXPRESSIONS)
