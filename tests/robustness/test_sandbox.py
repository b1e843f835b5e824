"""Behind the kernel's walls a script that has broken out of the language reads no file, runs nothing, sends nothing."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gradsh.process import sandbox, sandbox_trials, seccomp
from tests.batch.conftest import _environment

LACKING = sandbox.lacking()
needs_walls = pytest.mark.skipif(bool(LACKING), reason=f"this system has no {' and no '.join(LACKING)}")
ESCAPED = """
import os, sys
sys.argv[0] = 'gradsh'
from gradsh.session.session import Session
from gradsh.process.sandbox_trials import TRIALS

PLAIN = Session.offer_assertions

def escaped():
    '''What a script does that has reached Python itself: returns what it got through with.'''
    through = []
    for trial in TRIALS:
        if 'off' in sys.argv and ('run' in trial.what or 'process' in trial.what or 'delete' in trial.what):
            continue  # the program would be gone
        try:
            trial.attempt(PREY)
            through.append(trial.what)
        except OSError:
            continue
    for name, attempt in OWN.items():
        try:
            through.append(f'{name}: {attempt()!r}')
        except OSError:
            continue
    return through

def beside(folder):
    '''Return the files below a folder that can be read.'''
    readable = []
    for name in NAMES:
        try:
            open(f'{folder}/{name}').read()
            readable.append(name)
        except OSError:
            continue
    return sorted(readable)

def some(value):
    if not value:
        raise OSError
    return value

OWN = {
    'beside': lambda: open('secret.txt').read(), 'shell': lambda: some(os.popen('id').read()), 'list': lambda: os.listdir('.'),
    'environment': lambda: some(os.environ.get('SECRET_OF_THE_USER')), 'input': lambda: some(sys.stdin.readline()),
    'descriptor': lambda: os.read(LEFT, 10),
}

def offer(self):
    PLAIN(self)
    self.machine.builtins |= {'escaped': escaped, 'beside': beside}

Session.offer_assertions = offer
from gradsh.__main__ import main
main()
"""
"""The program with one more function for scripts: it runs Python, as a script would that has broken out."""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program, given a file, an open file, a variable and a line on standard input that are none of a script's business."""
    prey = folder / "secret.txt"
    prey.write_text("the secret")
    left = os.open(prey, os.O_RDONLY)
    os.set_inheritable(left, True)
    names = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    code = f"PREY, LEFT, NAMES = {str(prey)!r}, {left}, {names}\n{ESCAPED}"
    try:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120,
            input="from the terminal\n", pass_fds=(left,), env={**_environment(), "SECRET_OF_THE_USER": "x"},
        )
    finally:
        os.close(left)


@needs_walls
@pytest.mark.parametrize("arguments", [
    ["run", "a.grad"], ["run", "--timeout", "60", "a.grad"], ["run", "--set", "n=2", "a.grad"], ["run", "a.grad", "b.grad"],
    ["run", "-j", "2", "a.grad", "b.grad"], ["run", "--allow-files", "allowed", "a.grad"], ["-c", "print('got', escaped())"],
    ["run", "--sandbox", "on", "--profile", "a.grad"], ["run", "--format", "json", "a.grad"], ["run", "--max-memory", "1G", "a.grad"],
])
def test_a_script_that_has_escaped_gets_nowhere(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "allowed").mkdir()
    for name in "ab":
        (tmp_path / f"{name}.grad").write_text("n = 1  #@param\nx = ones(300, 300)\nprint('got', escaped())\n(x @ x).sum()\n")
    done = run(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("got []") == len([one for one in arguments if one.endswith(".grad")] or [1])
    assert (tmp_path / "secret.txt").read_text() == "the secret"


@needs_walls
@pytest.mark.parametrize("arguments", [["run", "a.grad"], ["run", "a.grad", "b.grad"], ["run", "{}/a.grad"], ["run", "link.grad"]])
def test_the_modules_that_a_script_imports_can_be_read_and_nothing_beside_them(tmp_path: Path, arguments: list[str]) -> None:
    folder = tmp_path / "of the script"
    modules = "model.py", "parts/blocks.py", "parts/deep/more.py", "helpers.py"
    for name in (*modules, "other.py", "parts/data.csv", "parts/other.py", "run.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("the text")
    (folder / "model.py").write_text("def f():\n    from parts.deep import more; import helpers\n")
    (tmp_path / "outside.py").write_text("")
    (folder / "stolen.py").symlink_to(tmp_path / "outside.py")
    for name in "ab":
        lines = "if 0: from model import Net\nif 0: import parts.blocks as b, stolen", f"print('got', beside({str(folder)!r}))\n"
        (folder / f"{name}.grad").write_text("\n".join(lines))
    (folder / "link.grad").symlink_to("a.grad")
    done = run(folder, *(one.format(folder) for one in arguments))
    assert done.returncode == 0, done.stderr
    assert f"got {sorted(modules)}" in done.stdout


@needs_walls
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_nor_does_one_that_is_tested(tmp_path: Path, jobs: str) -> None:
    for name in "ab":
        (tmp_path / f"{name}.grad").write_text(f"escaped()\n#> []\nvars\n#>> {name}.vars.out\n")
        (tmp_path / f"{name}.vars.out").write_text("wrong\n")
    done = run(tmp_path, "test", "-j", jobs, "--update", "--junit", "report.xml", ".")
    assert "2 passed, 0 failed" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "report.xml").exists()


@needs_walls
def test_what_is_allowed_can_be_written_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    code = "x = ones(2, requires_grad=True)\ny = x * 2\ngraph y --output g.dot\nsave 's.grad'\nload 's.grad'\nprint(escaped())"
    done = run(tmp_path, "run", "--allow-files", "allowed", "-c", code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("[]\n")
    assert {path.name for path in (tmp_path / "allowed").iterdir()} == {"g.dot", "s.grad"}


def test_without_the_walls_it_gets_somewhere(tmp_path: Path) -> None:
    """The trials can fail: what holds them back above is the walls."""
    (tmp_path / "a.grad").write_text("print('got', escaped())\n")
    shown = run(tmp_path, "run", "--sandbox", "off", "a.grad").stdout
    through = "read a file", "list a folder", "change a file's rights", "connect to a local service", *(
        f"{name}: " for name in ("beside", "shell", "list", "environment", "input", "descriptor")
    )
    assert [one for one in through if one not in shown] == []


@pytest.mark.parametrize("threads", ["", "2"])
@pytest.mark.parametrize("arguments", [
    ["run", "a.grad"], ["run", "a.grad", "a.grad"], ["run", "-j", "2", "a.grad", "a.grad"], ["test", "a.grad"],
])
def test_numpy_gets_its_threads_behind_the_walls(tmp_path: Path, arguments: list[str], threads: str) -> None:
    (tmp_path / "a.grad").write_text("x = ones(300, 300)\n(x @ x).sum()\n#> tensor(27000000.)\n")
    environment = {name: value for name, value in _environment().items() if not name.endswith("_NUM_THREADS")}
    chosen = {"OMP_NUM_THREADS": threads} if threads else {}
    done = subprocess.run(
        [sys.executable, "-m", "gradsh", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**environment, **chosen},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_walls
def test_compiled_modules_are_read_where_python_was_told_to_keep_them(tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("x = ones(2, requires_grad=True)\nx.cumsum(0).sum().backward()\n")
    environment = {**_environment(), "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for walls in ("off", "on", "on"):  # the walls themselves are compiled in the second
        command = [sys.executable, "-v", "-m", "gradsh", "run", "--sandbox", walls, "a.grad"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=environment)
    sources = [line for line in done.stderr.splitlines() if line.startswith("# code object from") and line.endswith(".py")]
    assert [line for line in sources if "/gradsh/" in line] == []


@needs_walls
def test_every_trial_is_held() -> None:
    code = "from gradsh.process.sandbox_trials import tried\nfor one in tried(): print(one.held, one)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment())
    lines = done.stdout.splitlines()
    assert len(lines) == len(sandbox_trials.TRIALS)
    assert [line for line in lines if not line.startswith("True")] == []


@needs_walls
def test_the_program_tells_its_walls() -> None:
    command = [sys.executable, "-m", "gradsh", "--version", "--verbose"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment())
    assert "Landlock" in done.stdout
    assert "seccomp" in done.stdout
    for trial in sandbox_trials.TRIALS:
        assert trial.what in done.stdout
    assert "went through" not in done.stdout


@pytest.mark.parametrize("command", [["run", "-c", "1"], ["test", "."], ["watch", "a.grad"]])
def test_what_cannot_hold_is_refused(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "a.grad").write_text("x = 1\n")
    code = "from gradsh.process import sandbox\nsandbox.lacking = lambda: ['Landlock']\nfrom gradsh.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", code, *command, "--sandbox", "on"], capture_output=True, text=True, check=False, cwd=tmp_path,
        env=_environment(),
    )
    assert done.returncode == 2
    assert "--sandbox on: this system has no Landlock; --sandbox auto takes what there is" in done.stderr


@pytest.mark.parametrize("at_a_prompt", [False, True])
@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_jumps_of_the_filter_land_within_it(machine: str, at_a_prompt: bool) -> None:
    code = seccomp.program(machine, 1, at_a_prompt=at_a_prompt)
    for place, (kind, yes, no, _) in enumerate(code):
        struct.pack("HBBI", *code[place])
        if kind in {seccomp.JUMP_EQUAL, seccomp.JUMP_BITS}:
            assert max(place + 1 + yes, place + 1 + no) < len(code)
    assert code[-1] == (seccomp.RETURN, 0, 0, seccomp.ALLOW)
    assert code[-2][3] != seccomp.ALLOW
