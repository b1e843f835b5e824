"""The page of derivatives shows every record's formulas as they are written."""

import ast
import inspect

from gradsh.engine.registry import lookup
from tools.derivatives import derivatives_page, formula_text, recorded


def formula(name, overload, key):
    return formula_text(lookup(name).records[overload].grads[key], {})


def test_every_formula_has_a_source():
    count = 0
    for record in recorded():
        for one in record.grads.values():
            if inspect.isfunction(one):
                ast.parse(formula_text(one, {}), mode="eval")
                count += 1
    assert count > 500


def test_formulas_of_one_line_are_told_apart():
    assert formula("mul", 0, "self") == "grad * other"
    assert formula("mul", 0, "other") == "grad * self"


def test_named_formulas_stand_at_the_end():
    named = {}
    text = formula_text(lookup("lerp").records[0].grads["weight"], named)
    assert text == "grad * (end - self)"
    assert not named
    page = derivatives_page()
    assert "## mul\n" in page
    assert "## Named formulas" in page
    assert page.index("# statistics._var_mean_grad") > page.index("## Named formulas")


def test_what_pytorch_lacks_is_said():
    assert "no such derivative" in formula("floor_divide", 0, "self")
