"""Programs without tensors do what Python does: printed text, the exception's class and its line, statement by statement."""

import ast
import contextlib
import io
import re
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from semantics_programs import PROGRAMS

from tests.sweep import draws


def python(text: str) -> tuple[str, list[tuple[str, int]], dict]:
    """Run a program in Python as the machine does: statement by statement, going on after failures."""
    space = {"__name__": "__main__"}
    out, errors = io.StringIO(), []
    tree = ast.parse(text)
    lines = {}
    for node in ast.walk(tree):  # breadth first: inner statements come later
        if isinstance(node, ast.stmt):
            for line in range(node.lineno, node.end_lineno + 1):
                lines[line] = max(lines.get(line, 0), node.lineno)
    for node in tree.body:
        with contextlib.redirect_stdout(out):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # what the compiler doubts is no failure
                    code = compile(ast.Module([node], []), "program", "exec")
                exec(code, space)
            except Exception as error:  # noqa: BLE001  # whatever Python raises is the answer
                trace, line = error.__traceback__, node.lineno
                while trace is not None:
                    if trace.tb_frame.f_code.co_filename == "program":
                        line = trace.tb_lineno
                    trace = trace.tb_next
                errors.append((type(error).__name__, lines.get(line, line)))
    return out.getvalue(), errors, space


def same_as_python(script, text: str) -> None:
    printed, errors, _ = python(text)
    script.run(text, grammars={})
    assert script.output == printed
    assert [(failed.error, failed.line) for failed in script.failures] == errors


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_does_what_python_does(script, name):
    same_as_python(script, PROGRAMS[name])


def test_a_long_chain_runs(script):
    script.run("x = 1\nprint(" + "+".join(["1"] * 10_000) + ")\nprint(" + "*".join(["x"] * 700) + ")")
    assert script.output == "10000\n1\n"
    assert not script.failures


def test_elifs_and_nested_loops(script):
    branches = "".join(f"elif x == {n}: print({n})\n" for n in range(300))
    loops = "".join(" " * depth + f"for i{depth} in [0]:\n" for depth in range(8)) + " " * 8 + "print('deep')\n"
    script.run("x = 250\nif x < 0: pass\n" + branches + loops)
    assert script.output == "250\ndeep\n"


ADDRESS = re.compile("0x[0-9a-f]+")

# --- generated programs -----------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "f", "g"])
ATOMS = st.one_of(
    NAMES, st.integers(-3, 9).map(str), st.sampled_from(["'xy'", "[1, 2]", "None", "True", "2.5", "(1,)", "{'k': 1}", "range(3)"]),
)


def _joined(parts):
    return st.one_of(
        st.tuples(parts, st.sampled_from([
                "+", "-", "*", "//", "%", "**", "<", "==", "and", "or", "in", "is"]), parts).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(parts, parts, parts).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(parts, parts).map(lambda t: f"{t[0]}[{t[1]}]" if t[0][0] in "abc([" else f"({t[0]})[{t[1]}]"),
        parts.map(lambda p: f"f'{{{p}!r:>4}}'" if "'" not in p and "{" not in p else p),
        st.tuples(parts, parts).map(lambda t: f"[{t[0]} for a in {t[1]}]"),
        st.tuples(NAMES, parts).map(lambda t: f"(lambda {t[0]}: {t[1]})(3)"),
        st.tuples(st.sampled_from(["len", "str", "list", "sum", "max", "bool", "sorted", "f", "g", "abs"]), parts).map(
            lambda t: f"{t[0]}({t[1]})"
        ),
        st.tuples(parts, st.sampled_from(["upper", "append", "real", "items", "nope", "count"])).map(lambda t: f"({t[0]}).{t[1]}"),
    )


EXPRESSIONS = st.recursive(ATOMS, _joined, max_leaves=6)


@st.composite
def blocks(draw, depth=0, function=False, loop=False):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(statements(depth, function, loop))
    return lines


@st.composite
def statements(draw, depth=0, function=False, loop=False):
    kinds = ["assign", "assign", "print", "print", "augment", "unpack", "assert", "delete"]
    if depth < 3:
        kinds += ["if", "for", "while", "try", "def", "class", "with"]
    kinds += ["return", "yield"] if function else []
    kinds += ["break", "continue"] if loop else []
    kind, e = draw(st.sampled_from(kinds)), draw(EXPRESSIONS)

    def block(**more):
        return ["    " + line for line in draw(blocks(depth + 1, more.get("function", function), more.get("loop", loop)))]

    match kind:
        case "assign":
            return [f"{draw(NAMES)} = {e}"]
        case "print":
            return [f"print({e})"]
        case "augment":
            return [f"{draw(NAMES)} {draw(st.sampled_from(['+=', '*=', '-=']))} {e}"]
        case "unpack":
            return [f"a, *b = {e}"]
        case "assert":
            return [f"assert {e}, {draw(EXPRESSIONS)}"]
        case "delete":
            return [f"del {draw(NAMES)}"]
        case "if":
            return [f"if {e}:", *block(), *(["else:", *block()] if draw(st.booleans()) else [])]
        case "for":
            body = block(loop=True)
            return [f"for {draw(NAMES)} in {e}:", *body, *(["else:", *block()] if draw(st.booleans()) else [])]
        case "while":
            return [f"k{depth} = 0", f"while k{depth} < 3:", f"    k{depth} += 1", *block(loop=True)]
        case "try":
            tail = ["finally:", *block()] if draw(st.booleans()) else []
            handler = draw(st.sampled_from(["except TypeError as c:", "except (ValueError, KeyError):", "except Exception as b:"]))
            return ["try:", *block(), handler, *block(), *tail]
        case "def":
            scope = draw(st.sampled_from(["", "    global a, b"]))
            parameter = draw(st.sampled_from(["c", "c=1", "*c", "c=1, *, d=2"]))
            body = block(function=True, loop=False)
            return [f"def {draw(st.sampled_from(['f', 'g']))}({parameter}):", *([scope] if scope else []), *body]
        case "class":
            return ["class K:", f"    v = {draw(ATOMS)}", "    def m(self): return self.v", "    def __len__(self): return 2", "a = K()",
                    "print(a.m(), len(a))"]
        case "with":
            return ["class W:", "    def __enter__(self): return 1", "    def __exit__(self, t, e, tb): return t is TypeError",
                    "with W() as b:", *block()]
        case "return":
            return [f"return {e}"]
        case "yield":
            return [f"yield {e}"]
        case _:
            return [kind]


@settings(max_examples=draws(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(blocks())
def test_generated_programs_do_what_python_does(scripts, lines):
    text = "a = 1\nb = [1, 2, 3]\nc = 'text'\ndef f(x=0): return x\ndef g(x=0): yield x\n" + "\n".join(lines) + "\n"
    try:
        compile(text, "program", "exec")
    except SyntaxError:
        return  # such as a name that is global and a parameter
    printed, errors, kept = python(text)
    again = python(text)  # while the first one's objects live, so that addresses differ
    if ADDRESS.sub("", printed) != ADDRESS.sub("", again[0]):
        return  # it prints pieces of an address
    del kept, again
    script = scripts()
    script.run(text, grammars={})
    assert ADDRESS.sub("", script.output) == ADDRESS.sub("", printed), text
    got = [(failed.error, failed.line) for failed in script.failures]
    assert got == errors, text
