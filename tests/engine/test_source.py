"""The functions written for operations: their names do not clash, and their lines are shown."""

import builtins
import dis
import linecache
import traceback
from typing import Any

import numpy as np
import pytest

import gradsh
from gradsh.engine.codegen.backward import write_compact_step, write_recorded_step, write_step
from gradsh.engine.codegen.forward_elementwise import is_quick, write_elementwise
from gradsh.engine.codegen.forward_general import is_plain, is_plain_composite, write_composite, write_primitive
from gradsh.engine.codegen.source import compile_source
from gradsh.engine.registry import every_operation
from gradsh.engine.schema.formulas import computes
from gradsh.engine.schema.overload import Overload

RECORDS = [record for name, operation in sorted(every_operation().items()) for record in operation.records if record.name == name]


def functions_for(record: Overload) -> list[Any]:
    """Every function that is ever written for a record."""
    found = [write(record) for write in (write_step, write_compact_step, write_recorded_step)]
    if is_plain_composite(record) or is_plain(record):
        write = write_composite if is_plain_composite(record) else write_primitive
        found += [write(record, spread) for spread in (False, True)]
    if (record.ufunc is not None or record.name == "mm") and is_quick(record):
        found.append(write_elementwise(record))
    return found


def test_all_that_is_written_compiles_keeps_its_names_apart_and_knows_them() -> None:
    functions = [(record.name, function) for record in RECORDS for function in functions_for(record)]
    written = {function.__code__.co_filename for _, function in functions}
    lost = [name for name in written if name.startswith("<gradsh ") and not linecache.getline(name, 1).startswith("def ")]
    assert lost == []
    assert len(written) > 2000
    unknown = {
        (name, one.argval) for name, function in functions for one in dis.get_instructions(function)
        if one.opname == "LOAD_GLOBAL" and one.argval not in function.__globals__ and not hasattr(builtins, one.argval)
    }
    assert unknown == set()


def test_no_parameter_has_a_name_that_a_written_function_uses() -> None:
    names = {param.name for record in RECORDS for param in record.signature.params}
    assert {name for name in names if name.startswith("_")} <= {"_random_samples", "_stacklevel"}
    assert not names & {"type", "isinstance", "list", "tuple", "len"}


def test_formulas_compute_what_they_are_declared_to() -> None:
    grad, saved = np.array([2.0, -3.0]), np.array([5.0, 0.5])
    declared = [
        formula for record in RECORDS for formula in (*record.grads.values(), *record.plain.values()) if computes(formula)
    ]
    assert {computes(formula) for formula in declared} == {"identity", "product"}
    for formula in declared:
        if computes(formula) == "identity":
            assert formula(grad) is grad
        else:
            assert (formula(grad, saved) == grad * saved).all()


def test_a_name_of_the_scope_may_not_be_hidden() -> None:
    with pytest.raises(AssertionError, match="local names hide add"):
        compile_source("test", "def f(add):\n    return add", {"add": sum})


def test_a_traceback_shows_the_line_that_failed() -> None:
    x = gradsh.ones(3, requires_grad=True)
    for _ in range(4):
        x.sum().backward()
    with pytest.raises(IndexError, match="out of range") as caught:
        gradsh.select(x, 0, 7)
    shown = "".join(traceback.format_exception(caught.value))
    assert 'File "<gradsh forward of select #' in shown
    assert "_out = _kernel(" in shown
