"""The reference page of the language, made from the parser's rules and from the lists of what scripts can name."""

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from importlib import import_module

from gradsh.api.torch import NAMESPACES
from gradsh.language.tokens import KEYWORDS
from gradsh.runtime.builtins import REFUSED
from gradsh.runtime.modules import MODULES, REAL, REFUSED_MODULE, STANDS_IN
from gradsh.session.session import ASSERTIONS, Session

PARSERS = ("blocks", "statements", "commands", "functions", "expressions", "atoms")
RULE = re.compile(r'"""(?:(?!""").)*?\n\n[ ]*((?:\w+: )(?:(?!""").)*?)\s*"""', re.DOTALL)
LISTED = ("torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils", "torch.optim", "torch.optim.lr_scheduler",
          "torch.autograd", "torch.autograd.functional", "torch.autograd.graph", "torch.autograd.forward_ad", "torch.func", "torch.linalg",
          "torch.special",
          "torch.utils.checkpoint", "torch.utils.data")

INTRODUCTION = """# The language

A program is a sequence of statements: tensor statements, which are Python as it is written in posts about autograd, with
Python's precedence and meaning, and [commands](commands.md). An expression statement at the top level shows its value;
inside blocks and functions nothing is shown, nor in a file `NAME.py`, as under `python NAME.py`.

"""
EXAMPLE = """import torch.nn.functional as F

def halves(values):
    for value in values:
        yield value / 2

x = tensor([1., 2.], requires_grad=True)
losses = {name: part.pow(2).sum() for name, part in zip("ab", halves([x, x.exp()]))}
f"{losses['a']:.3f}", [*losses]
#>
for name, loss in losses.items():
    backward loss
"""
NAMES = """## Names

A name is looked up in the program, then among Python's builtins, then in `torch.nn.functional`, `torch`, `torch.nn`,
`torch.optim`: so `ones(2, 3)`, `Linear(3, 3)` and `mse_loss(a, b)` work without a prefix, while `sum`, `max`, `abs` and `round` keep
Python's meaning. Attributes are those that gradsh offers, by the owner's type.

"""
COMMAND_LINES = """## Where a command begins

A command's name that the program has not bound starts a command, unless `=`, `.`, `,`, `:`, an augmented assignment or an adjoining
`(` or `[` follows. A name that the program has bound does so only before a name, a number or a string. Arguments are
expressions, as long as they go, commas optional; after another argument, one that begins with `( [ - + ~` needs the
comma. Outside brackets a blank, `--` and a letter begin an option.

"""
COMMENTS = """## Comments that mean something

| comment | means |
| --- | --- |
| `#>`, `#/ … /`, `#>>`, `#!` at column 0 | expected output, an announced failure: see [golden tests](../golden-tests.md) |
| `#@ seed=0 rtol=1e-4 atol=1e-6` | options of the file |
| `NAME = LITERAL  #@param ABOUT` | a parameter: `gradsh run --params FILE` lists it, `--set NAME=VALUE` sets it |

"""
GRAMMAR = """## Grammar

The rules that the parser carries beside its code: `[x]` may be left out, `x*` and `x+` repeat, `|` separates alternatives.

```text
"""


def language_page(example: str) -> str:
    """Return the page; `example` is the section's script with its outputs, as a fenced block."""
    return "".join((
        INTRODUCTION, example, "\n", NAMES, "".join(_names()), COMMAND_LINES, COMMENTS,
        GRAMMAR, "\n".join(_rules()), "\n```\n",
    ))


def _names() -> Iterator[str]:
    """What scripts can name: builtins, exceptions, modules."""
    machine = Session().machine
    known = {name: value for name, value in machine.builtins.items() if name.isidentifier() and not name.startswith("__")}
    errors = {name for name, value in known.items() if isinstance(value, type) and issubclass(value, BaseException)}
    usable = known.keys() - errors - REFUSED.keys() - set(ASSERTIONS)
    yield _section("Builtins", usable)
    yield _section("For assertions about graphs", ASSERTIONS)
    yield _section("Exceptions", errors)
    yield _section("Keywords", KEYWORDS)
    yield "### Modules of Python's library\n\n| import | offers | remark |\n| --- | --- | --- |\n"
    imports = machine.offer.imports
    for name, module in MODULES.items():
        if module.how == REAL:
            library = imports.library(name)
            yield f"| `{name}` | {_listed(library.names() if library else ())} | {module.why} |\n"
    yield "\n### Modules that stand in\n\nEach says once that it stands in. None of them changes a number.\n\n"
    yield "| import | stands in |\n| --- | --- |\n"
    yield from (f"| `{name}` | {module.why} |\n" for name, module in MODULES.items() if module.how == STANDS_IN)
    yield "\n### Modules that are refused\n\n| import | what to write instead |\n| --- | --- |\n"
    yield from (f"| `{name}` | {module.why} |\n" for name, module in MODULES.items() if module.how == REFUSED_MODULE)
    yield "\nAny other import binds a name that explains itself when it is used, so that a post whose import is idle still runs.\n"
    yield "In a `try` whose `except` takes an ImportError and goes on, it fails there, and the program says that it takes that way.\n\n"
    yield "### PyTorch's namespaces\n\n`torch` and `Tensor` hold the [operations](operations.md); beside them:\n\n"
    yield "| import | offers |\n| --- | --- |\n"
    yield from (f"| `{name}` | {_listed(NAMESPACES[name].names())} |\n" for name in LISTED)
    yield "\n### What the language does not have\n\n| name | the way to do it here |\n| --- | --- |\n"
    yield from (f"| `{name}` | {way} |\n" for name, way in REFUSED.items())
    yield "\nNor are there `async`, and metaclasses other than those of `Enum` and `ABC`.\n\n"


def _section(title: str, names: Iterable[str]) -> str:
    return f"### {title}\n\n{_listed(names)}\n\n"


def _listed(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in sorted(names, key=lambda name: (name.lower(), name)) if name[0] != "_")


def _rules() -> Iterator[str]:
    """The rules in the docstrings of the parser's methods, from whole programs down to atoms."""
    for part in PARSERS:
        for match in RULE.finditer(inspect.getsource(import_module(f"gradsh.language.parser_{part}"))):
            first, _, rest = match[1].partition("\n")
            yield first + ("\n" + textwrap.indent(textwrap.dedent(rest), "    ") if rest else "")
        yield ""
