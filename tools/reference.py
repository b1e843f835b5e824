"""The reference pages of the command line and of the Python API, read from the options and the docstrings."""

import ast
from collections.abc import Iterator
from pathlib import Path

from gradsh.cli.app import described
from gradsh.cli.manual import ENVIRONMENT, FILES, Sub

LENS = Path(__file__).parents[1] / "gradsh/lens"
CLI = """# Command line

`gradsh` alone opens the shell on a terminal, and reads standard input otherwise. `gradsh FILE…` is short for `gradsh run FILE…`. The
exit status is 0 (success), 1 (a statement or a golden test failed), 2 (wrong usage or a missing file) or 130 (interrupted).
"""
API = """# Python API

## gradsh.lens: on PyTorch

`from gradsh import lens` needs PyTorch 2.4 or later. Each function returns the report of the command of the same name: its fields are
attributes, it prints as the command does, and notebooks show it as HTML. `%load_ext gradsh` starts watching and adds the magics
`%graph`, `%buffers`, `%plan`, `%why`, `%holders`, `%memory`, `%leaks` and `%vars`.

```python
from gradsh import lens

with lens.watching():
    loss = net(x).pow(2).mean()
    print(lens.buffers(loss).totals.unique_bytes)
```

| function | does |
| --- | --- |
"""
ENGINE = """
## gradsh: the engine as a library

`import gradsh` gives the numpy engine under the names of PyTorch, without PyTorch: `gradsh.tensor`, the operators as functions and as
methods of `Tensor`, `gradsh.nn`, `gradsh.nn.functional`, `gradsh.optim`, `gradsh.autograd`. It also has what PyTorch has no public API
for: `t.grad_fn.saved`, a tuple of saved tensors with `name`, `shape`, `dtype`, `nbytes` and `freed`.

```python
import gradsh
import gradsh.nn.functional as F

x = gradsh.ones(2, requires_grad=True)
y = F.relu(x * 2).sum()
print(y.grad_fn.next_functions[0][0].saved)
y.backward()
print(x.grad)
```

[Operations](operations.md) lists the functions and what each saves. The package has type information (`py.typed`).
"""


def cli_page() -> str:
    """Return the page of subcommands, options, files and environment variables."""
    out = [CLI]
    for sub in described():
        out += _sub(sub)
    out += ["## Files and environment\n", "| name | meaning |", "| --- | --- |"]
    out += [f"| `{name}` | {meaning} |" for name, meaning in (*FILES, *ENVIRONMENT)]
    return "\n".join(out) + "\n"


def _sub(sub: Sub) -> Iterator[str]:
    title = f"gradsh {sub.name}".strip()
    yield f"## {title}\n"
    yield f"{sub.help}\n"
    yield f"```text\n{title} [OPTION]... {sub.arguments}".rstrip() + "\n```\n"
    yield "| option | does |\n| --- | --- |"
    yield from (f"| `{flag.shown.replace('|', chr(92) + '|')}` | {flag.help} |" for flag in sub.flags)
    yield ""


def api_page() -> str:
    """Return the page of `gradsh.lens` and of the engine as a library."""
    tree = ast.parse((LENS / "api.py").read_text(encoding="utf-8"))
    package = ast.parse((LENS / "__init__.py").read_text(encoding="utf-8"))
    offered = next(ast.literal_eval(node.value) for node in package.body
                   if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__")
    rows = [f"| `{one.name}({_parameters(one.args)})` | {ast.get_docstring(one)} |"
            for one in tree.body if isinstance(one, ast.FunctionDef) and one.name in offered]
    return API + "\n".join(rows) + "\n" + ENGINE


def _parameters(given: ast.arguments) -> str:
    for one in ast.walk(given):
        if isinstance(one, ast.arg):
            one.annotation = None
    return ast.unparse(given)
