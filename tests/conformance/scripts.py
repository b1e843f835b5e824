"""PyTorch's own tests of autograd as scripts: each body, with the checks of `script_checks.txt`, run by `gradsh run` or by Python.

    python -m tests.conformance.scripts FOLDER gradsh            what each test comes to
    python -m tests.conformance.scripts FOLDER torch NAME…       the same by Python on PyTorch, of tests whose name has a word

Tests that take arguments or decorators are left to `autograd_tests`, and so is what `scope.py` lists.
"""

import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator

from tests.conformance.scope import left_out

CHECKS = (pathlib.Path(__file__).parent / "script_checks.txt").read_text(encoding="utf-8")
FILES = ("test_autograd.py", "autograd/test_functional.py")
UNWRITABLE = re.compile(r"\bsys\.|\bos\.|threading|Thread|pickle|\bio\.|tempfile|TestCase|unittest|IS_\w+|TEST_\w+|_functions|logging")
"""What a test needs that no script of gradsh's has, or that belongs to the file around it."""


def scripts(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Return the name and the text of each test that can stand alone."""
    for file in FILES:
        text = (folder / file).read_text(encoding="utf-8")
        tree = ast.parse(text)
        named = [one for one in tree.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
        around = {one.name: ast.get_source_segment(text, one) or "" for one in named}
        for cls in tree.body:
            if isinstance(cls, ast.ClassDef):
                yield from _of_class(cls, text, {name: source for name, source in around.items() if not name.startswith("Test")})


def _of_class(cls: ast.ClassDef, text: str, around: dict[str, str]) -> Iterator[tuple[str, str]]:
    methods = {one.name: one for one in cls.body if isinstance(one, ast.FunctionDef)}
    for name, method in methods.items():
        if not name.startswith("test_") or len(method.args.args) > 1 or method.decorator_list:
            continue
        needed = _with_helpers(name, methods)
        sources = [textwrap.dedent(" " * 80 + "\n" + _segment(text, one)) for one in needed]
        body = "\n".join(sources)
        beside = "\n".join(source for one, source in around.items() if re.search(rf"\b{one}\b", body))
        whole = f"{beside}\nclass Test(Checks):\n{textwrap.indent(body, '    ')}\n\nTest().{name}()\n"
        if left_out(f"{cls.name}\n{body}") is None and not UNWRITABLE.search(whole):
            yield f"{cls.name}.{name}", f"import re\n{CHECKS}\n{whole}"


def _with_helpers(name: str, methods: dict[str, ast.FunctionDef]) -> list[ast.FunctionDef]:
    called = {one.attr for one in ast.walk(methods[name]) if isinstance(one, ast.Attribute)} & methods.keys()
    return [methods[name], *(methods[one] for one in sorted(called) if not one.startswith("test_"))]


def _segment(text: str, method: ast.FunctionDef) -> str:
    first = min([method.lineno, *(one.lineno for one in method.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : method.end_lineno])


def outcome(script: str, library: str) -> tuple[str, str]:
    """Return "passes" or "fails", and the end of what was told."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(script)
        file.flush()
        ways = {"gradsh": ["-m", "gradsh", "run", "--timeout", "60"], "torch": ["-W", "ignore"]}
        done = subprocess.run(
            [sys.executable, *ways[library], file.name], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False,
        )
    return ("fails", (done.stdout + done.stderr)[-1500:]) if done.returncode else ("passes", "")


def main(folder: str, library: str, *names: str) -> int:
    """Print a line of JSON for each test."""
    for name, script in scripts(pathlib.Path(folder)):
        if not names or any(one in name for one in names):
            told = outcome(script, library)
            print(json.dumps({"name": name, "outcome": told[0], "detail": told[1]}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
