"""What the program imports when it starts: the time of a small script is the time of its imports."""

import inspect
import py_compile
import subprocess
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gradsh.ops.families import FAMILIES
from gradsh.process.fast_import import _Finder

ASK = """
import os, sys
leave = os._exit
def told(status):
    import gc
    sys.stdout.write(f"\\n{gc.isenabled()} {gc.get_freeze_count()}\\n" + " ".join(sys.modules))
    sys.stdout.flush()
    leave(status)
os._exit = told
from gradsh.__main__ import main
main()
"""
SCRIPT = """x = ones(2, 3, requires_grad=True)
y = x.mean(dim=1) + 3
z = y.pow(2).mean()
backward z
x.grad
"""
RARE = {"typer", "prompt_toolkit", "pygments", "resvg_py", "pathlib", "dataclasses", "json", "logging", "argparse", "tempfile",
        "importlib.metadata", "multiprocessing", "gradsh.cli.app", "gradsh.golden", "gradsh.shell", "gradsh.api.nn.module",
        "numpy._typing", "numpy._core._add_newdocs", "inspect", "dis", "threading", "pickle", "platform",
        "textwrap", "datetime"}  # fmt: skip


def last_lines(*arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", ASK, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-2:]


def imported(*arguments: str) -> set[str]:
    return set(last_lines(*arguments)[1].split())


def run(script: str, *command: str) -> str:
    command = command or ("-m", "gradsh", "run", "-c")
    done = subprocess.run([sys.executable, *command, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def families(names: set[str]) -> set[str]:
    return {name.removeprefix("gradsh.ops.") for name in names} & set(FAMILIES)


@pytest.mark.parametrize("arguments", [["--version"], ["-V"]])
def test_the_version_needs_next_to_nothing(arguments: list[str]) -> None:
    found = imported(*arguments)
    assert not found & {*RARE, "numpy", "typing", "re", "gradsh.session.session", "gradsh.api.torch"}


def test_a_small_script_imports_what_it_uses(tmp_path: Path) -> None:
    script = tmp_path / "five.grad"
    script.write_text(SCRIPT, encoding="utf-8")
    found = imported("run", str(script))
    assert {"numpy", "gradsh.session.session"} <= found
    assert not found & RARE
    assert len(families(found)) < len(FAMILIES) / 4


@pytest.mark.parametrize("arguments", [["-c", "x = 1"], ["run", "-c", "x = 1", "--jobs", "1"]])
def test_the_collector_works_when_a_script_runs(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("x = 1\n", encoding="utf-8")
    enabled, frozen = last_lines(*(word.replace("FILE", str(tmp_path / "a.grad")) for word in arguments))[0].split()
    assert enabled == "True"
    assert int(frozen) > 10_000


@pytest.mark.parametrize("arguments", [["run", "a.grad", "a.grad"], ["test", "a.grad"], ["test", "-j", "2", "a.grad", "b.grad"]])
def test_the_collector_works_in_processes_that_run_scripts(arguments: list[str], tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.grad").write_text("print(collector())\n#> (True, True)\n", encoding="utf-8")
    code = (
        "import gc\nfrom gradsh.session.session import Session\nplain = Session.offer_assertions\n"
        "def offer(self):\n    plain(self)\n"
        "    self.machine.builtins['collector'] = lambda: (gc.isenabled(), gc.get_freeze_count() > 10_000)\n"
        "Session.offer_assertions = offer\nfrom gradsh.__main__ import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(True, True)" in done.stdout or arguments[0] == "test"


def test_a_script_that_cannot_be_read_needs_no_numpy(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gradsh", "run", str(tmp_path / "none.grad")],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 2
    assert "numpy." not in done.stderr


def test_the_library_is_imported_at_once_and_its_parts_are_not_its_names() -> None:
    code = "import sys, gradsh; from gradsh import process; print('numpy' in sys.modules); gradsh.zeros; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\nTrue\n", "")


@pytest.mark.parametrize("name", ["dtype", "float32", "int64"])
def test_numpys_texts_are_there_when_a_script_reads_them(name: str) -> None:
    text = getattr(np, name).__doc__
    assert text
    assert run(f"print(np.{name}.__doc__)") == f"{text}\n"


def test_numpy_is_whole_after_it_was_imported_without_texts() -> None:
    given = run(
        "from gradsh.process.lean_numpy import document, import_numpy\n"
        "import_numpy(); import_numpy(); import numpy\n"
        "assert numpy.ndarray.sum.__doc__ is None\n"
        "import numpy.typing, numpy.random, numpy.ma, numpy.testing\n"
        "print(numpy.typing.NDArray[numpy.float32])\n"
        "document(); document(); print(numpy.ndarray.sum.__doc__)\n"
        "from inspect import signature\n"
        "print([f'{name}{signature(each)}' for name, each in sorted(vars(numpy).items()) if hasattr(each, '__signature__')])\n"
        "print([numpy.dot.__doc__, numpy.where.__doc__, numpy.vdot.__doc__])",
        "-c",
    )
    signatures = [f"{name}{inspect.signature(each)}" for name, each in sorted(vars(np).items()) if hasattr(each, "__signature__")]
    assert signatures or np.lib.NumpyVersion(np.__version__) < "2.4.0"  # older ones have none
    assert given == (
        f"{npt.NDArray[np.float32]}\n{np.ndarray.sum.__doc__}\n{signatures}\n{[np.dot.__doc__, np.where.__doc__, np.vdot.__doc__]}\n"
    )


def test_what_numpy_imports_when_it_is_used_is_pythons_own() -> None:
    given = run(
        "from gradsh.process.lean_numpy import import_numpy\n"
        "import_numpy()\n"
        "import sys, numpy as np\n"
        "print(sorted({'ast', 'datetime', 'inspect', 'pickle', 'platform', 'textwrap'} & sys.modules.keys()))\n"
        "import datetime, pickle, typing\n"
        "print(np.datetime64('2026-01-02').astype(object) == datetime.date(2026, 1, 2))\n"
        "print(pickle.loads(np.arange(3).dumps()), np.array('ab').item(), np.linalg.slogdet(np.eye(2)))\n"
        "np.lib._utils_impl.platform.system(); np.dtype({'names': ['a'], 'formats': ['f4']}).__repr__()\n"
        "print(sys.modules['platform'].system() == np.lib._utils_impl.platform.system(), issubclass(typing.NamedTuple('A', []), tuple))",
        "-c",
    )
    assert given == "[]\nTrue\n[0 1 2] ab SlogdetResult(sign=np.float64(1.0), logabsdet=np.float64(0.0))\nTrue True\n"


def test_the_fast_search_finds_what_pythons_search_finds() -> None:
    compared = 0
    for name in list(sys.modules):
        home = sys.modules.get(name.rpartition(".")[0])
        found = _Finder.find_spec(name, getattr(home, "__path__", None))
        if found is not None:
            known = PathFinder.find_spec(name, getattr(home, "__path__", None))
            fields = ("name", "origin", "cached", "has_location", "submodule_search_locations")
            assert known is not None
            assert [getattr(found, one) for one in fields] == [getattr(known, one) for one in fields]
            assert isinstance(found.loader, type(known.loader))
            compared += 1
    assert compared > 100


def test_the_fast_search_leaves_what_is_missing_or_stale_to_pythons_search(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for source in (tmp_path / "one.py", tmp_path / "package" / "__init__.py"):
        name = source.stem if source.parent == tmp_path else "package"
        assert _Finder.find_spec(f"gradsh.{name}", [str(tmp_path)]) is None
        source.write_text("a = 1\n", encoding="utf-8")
        assert _Finder.find_spec(f"gradsh.{name}", [str(tmp_path)]) is None
        py_compile.compile(str(source))
        spec = _Finder.find_spec(f"gradsh.{name}", [str(tmp_path)])
        assert spec is not None
        assert module_from_spec(spec).__file__ == str(source)
        assert _Finder.find_spec(f"other.{name}", [str(tmp_path)]) is None
        source.write_text("a = 12\n", encoding="utf-8")
        assert _Finder.find_spec(f"gradsh.{name}", [str(tmp_path)]) is None
        py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
        assert _Finder.find_spec(f"gradsh.{name}", [str(tmp_path)]) is None
        source.unlink()
        assert _Finder.find_spec(f"gradsh.{name}", [str(tmp_path)]) is None
