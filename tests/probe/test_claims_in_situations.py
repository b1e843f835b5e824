"""On real scripts: before each backward at the top level, the plan; then the pass; the two must be the same.

Everything that looks is asked as well, and must neither fail nor change what the script does.
"""

import re
from pathlib import Path

import pytest

from gradsh.commands import GRAMMARS
from gradsh.language.parser import parse
from gradsh.text.problem import ProblemError
from gradsh.text.span import Source
from tests.probe.asking import Asked
from tests.sweep import part

REAL = sorted((Path(__file__).parent.parent / "oracle" / "real").glob("*.py"))
BACKWARD = re.compile(r"(\w+)\.backward\((retain_graph=True)?\)")
LOOKS = ("graph", "buffers --by variable", "memory", "leaks", "diff", "vars")


def statements(text):
    source = Source("script", text)
    try:
        body = parse(source, GRAMMARS, frozenset()).body
    except ProblemError:
        pytest.skip("the script does not parse as a whole")
    lines = text.split("\n")
    return ["\n".join(lines[one.span.line - 1 : one.span.end_line]) for one in body]


@pytest.mark.parametrize("path", part(REAL, 4), ids=lambda path: path.stem)
def test_plans_of_real_scripts(path):
    asked = Asked()
    for text in statements(path.read_text(encoding="utf-8")):
        found = BACKWARD.fullmatch(text.strip())
        if found is None:
            asked.run(text)
            continue
        options = " --retain" if found[2] else ""
        asked.run(f"plan {found[1]}{options}")
        if asked.failures:
            asked.run(text)
            continue
        plan = asked.report(f"plan {found[1]}{options}")
        asked.run(f"backward {found[1]}{options}")
        failures = asked.failures
        if plan.assumes and (not failures or plan.failure is None):
            continue
        if failures:
            assert plan.failure is not None
            assert (plan.failure.kind, plan.failure.message) == (failures[0].kind, failures[0].message)
        else:
            assert plan.failure is None
            assert plan.would == [event.report for event in asked.events if hasattr(event, "report")][-1]
    for look in LOOKS:
        asked.shown(look)
    for name, value in list(asked.session.machine.variables().items()):
        if hasattr(value, "grad_fn") or hasattr(type(value), "named_parameters"):
            asked.shown(f"why {name}")
