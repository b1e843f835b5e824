"""Writes the page of derivatives: for each record its signature, node, saved set, and its formulas as source.

A formula written in a record stands there as it is; one that is a named function is named, and its source stands at the
end of the page.
"""

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.registry import lookup, operations
from gradsh.engine.schema.overload import Overload, parameter_names

ROOT = Path(__file__).parents[1]
HEAD = """# Derivatives

Every operation that makes a node, with the formulas of its gradients as they stand in `gradsh/ops/`. `grad` is the gradient
of the (first) output, `grads` those of all outputs; `result`, `result1`, … are outputs; `NAME_sizes`, `NAME_dim`, … are known
without saving NAME. Every other tensor that a formula reads is saved for backward: that is where the list behind the
node's name comes from. Formulas run on arrays in a plain pass and on tensors under `create_graph`, so that they have gradients too.
An in-place form has the derivative of its operation unless it is listed. [operations.md](reference/operations.md) says what each computes.
"""
MISSING = "PyTorch has no such derivative: backward raises"


def derivatives_page() -> str:
    """Return the page, without the remark that it is made."""
    named: dict[str, str] = {}
    out = [HEAD]
    for record in recorded():
        out += _entry(record, named)
    out.append("## Named formulas\n")
    for source in named.values():
        out.append(f"```python\n{source}```\n")
    return "\n".join(out)


def recorded() -> Iterator[Overload]:
    """Return the records with derivatives, once each, in-place forms only where theirs differ."""
    seen: set[int] = set()
    own = [name for name in operations() if not name.startswith("torch_")]  # the functions of a tuple have their methods' formulas
    for name in sorted(own, key=lambda one: one.lstrip("_")):
        operation = lookup(name)
        assert operation is not None
        plain = lookup(name.removesuffix("_")) if name.endswith("_") else None
        inherited = [record.grads for record in plain.records] if plain is not None else []
        for record in operation.records:
            if not record.grads or id(record) in seen or any(record.grads is one for one in inherited):
                continue
            seen.add(id(record))
            yield record


def _entry(record: Overload, named: dict[str, str]) -> Iterator[str]:
    saves = ", ".join(f"`{one}`" for one in record.plan.names) or "nothing"
    node = f"`{record.node}`" if record.node else "no node of its own"
    yield f"## {record.name}\n"
    yield f"`{record.text}`: {node}, saves {saves}\n"
    lines = [
        f"{', '.join(key) if isinstance(key, tuple) else key}: {formula_text(formula, named)}"
        for key, formula in record.grads.items()
    ]
    yield "```python\n" + "\n".join(lines) + "\n```\n"


def formula_text(formula: Callable[..., Any] | None, named: dict[str, str]) -> str:
    """Return a formula's source, or its name where it is a function of its own, whose source is added to `named`."""
    if formula is None:
        return MISSING
    formula = inspect.unwrap(formula)
    if hasattr(formula, "applies"):
        return f"{formula.applies}({', '.join(parameter_names(formula))})"
    if not inspect.isfunction(formula):
        return f"{getattr(formula, 'name', formula)}(…)"
    if formula.__name__ == "<lambda>":
        return _lambda_body(formula)
    label = f"{Path(formula.__code__.co_filename).stem}.{formula.__name__}"
    named.setdefault(label, f"# {label}\n{textwrap.dedent(inspect.getsource(formula))}")
    return f"{label}({', '.join(parameter_names(formula))})"


def _lambda_body(formula: Callable[..., Any]) -> str:
    code = formula.__code__
    source, lambdas = _lambdas(code.co_filename)
    names = list(parameter_names(formula))
    found = [
        one for one in lambdas
        if one.lineno == code.co_firstlineno and [arg.arg for arg in one.args.args] == names and _within(code, one.body)
    ]
    text = " ".join((ast.get_source_segment(source, found[0].body) or "").split())
    for name, value in inspect.getclosurevars(formula).nonlocals.items():  # records written in a loop or by a function
        if isinstance(value, (Operation, int, str)):
            shown = value.name if isinstance(value, Operation) else repr(value)
            text = shown.join(re.split(rf"\b{name}\b", text))
    return text


def _within(code: Any, body: ast.expr) -> bool:
    """Whether the code was made of this expression: where its instructions stand tells lambdas of one line apart."""
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    places = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column is not None]
    ends = [place for place in places[1:] if place != (code.co_firstlineno, 0)]
    return all(start <= place <= end for place in ends)


@functools.cache
def _lambdas(file: str) -> tuple[str, list[ast.Lambda]]:
    source = Path(file).read_text(encoding="utf-8")
    return source, [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Lambda)]
