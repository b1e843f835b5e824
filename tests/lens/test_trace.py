"""`gradsh trace`, as a person types it: output, exit status and tracebacks are the program's own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.lens.traced import trace

TWICE = """import sys, torch
x = torch.ones(2, requires_grad=True)
def forward(x):
    return x.exp()
z = forward(x).sum()
z.backward()
print("argument", sys.argv[1:], __name__)
z.backward()
print("never")
"""


@pytest.mark.parametrize("words", [["trace", "x.py"], ["compare", "x.grad"], ["run", "--engine", "torch", "x.grad"]])
def test_without_torch_a_command_line_says_how_to_install_it(words: list[str], tmp_path: Path) -> None:
    program = f"import sys; sys.modules['torch'] = None; sys.argv = {['gradsh', *words]}; from gradsh.__main__ import main; main()"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 2
    assert ran.stderr == 'gradsh: this needs PyTorch: install it with `pip install "gradsh[torch]"`\n'


def test_without_torch_the_lens_says_how_to_install_it(tmp_path: Path) -> None:
    program = "import sys; sys.modules['torch'] = None\nfrom gradsh import lens\nlens.graph()"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert 'ImportError: gradsh.lens: this needs PyTorch: install it with `pip install "gradsh[torch]"`' in ran.stderr


def test_what_only_gradsh_s_engine_has_is_refused_with_the_other() -> None:
    for option in ("-i", "--top"):
        words = [sys.executable, "-m", "gradsh", "run", "--engine", "torch", option, "-c", "1"]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[2])
        assert (ran.returncode, f"{option} needs gradsh's engine" in ran.stderr) == (2, True)


def test_usage_is_told() -> None:
    from gradsh.lens.tracing import parse

    assert parse([]) == "name a program to run"
    assert "--nonsense" in str(parse(["--nonsense", "x.py"]))
    options = parse(["--keep-going", "--format=json", "x.py", "--keep-going", "-m"])
    assert not isinstance(options, str)
    assert (options.program, options.arguments, options.keep_going, options.format) == ("x.py", ("--keep-going", "-m"), True, "json")


@pytest.mark.parity
class TestOnPyTorch:
    """What needs PyTorch."""

    @pytest.fixture(autouse=True)
    def _torch(self) -> None:
        pytest.importorskip("torch")

    def run(self, tmp_path: Path, text: str, *words: str, options: tuple[str, ...] = ()) -> object:
        (tmp_path / "prog.py").write_text(text, encoding="utf-8")
        return trace(*options, "prog.py", *words, folder=tmp_path)

    def test_the_story_comes_before_the_traceback(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, TWICE, "a", "-b")
        assert ran.status == 1
        assert ran.out == "argument ['a', '-b'] __main__\n"
        story, _, traceback = ran.err.partition("Traceback (most recent call last):\n")
        assert "backward needs ExpBackward0.result, which an earlier backward freed" in story
        assert "saved here: result, (2,), 8 B (called from line 5)" in story
        assert story.index("freed here") < story.index("needed again here")
        assert "retain `" not in story  # which PyTorch does not have
        assert "gradsh" not in traceback
        assert traceback.rstrip().splitlines()[-1].startswith("RuntimeError: Trying to backward through the graph a second time")

    def test_a_program_ends_as_it_would(self, tmp_path: Path) -> None:
        assert self.run(tmp_path, "import sys\nsys.exit(7)").status == 7
        assert self.run(tmp_path, "import os\nprint('gone', flush=True)\nos._exit(3)") == (3, "gone\n", "")
        assert self.run(tmp_path, "raise SystemExit").status == 0
        ran = self.run(tmp_path, "def f():\n    return 1 / 0\nf()")
        assert ran.status == 1
        assert ran.err == (
            f'Traceback (most recent call last):\n  File "{tmp_path}/prog.py", line 3, in <module>\n    f()\n'
            f'  File "{tmp_path}/prog.py", line 2, in f\n    return 1 / 0\n           ~~^~~\nZeroDivisionError: division by zero\n'
        )

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        ran = trace("nothing.py", folder=tmp_path)
        assert ran == (2, "", "gradsh: cannot open nothing.py: No such file or directory\n")

    def test_what_cannot_be_parsed_or_imported_is_python_s(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, "x = = 1")
        assert (ran.status, ran.err.splitlines()[-1]) == (1, "SyntaxError: invalid syntax")
        ran = self.run(tmp_path, "import nothing_of_this_name")
        assert (ran.status, ran.err.splitlines()[-1]) == (1, "ModuleNotFoundError: No module named 'nothing_of_this_name'")

    @pytest.mark.parametrize("text", ["x = ones(2)", "import torch\ny = torch.ones(2, requires_grad=True).sum()\nbackward y"])
    def test_a_script_of_gradsh_is_sent_to_run(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "x.grad").write_text(text)
        ran = trace("x.grad", folder=tmp_path)
        assert ran.status == 1
        assert "  help: `gradsh run --engine torch x.grad` runs a script of gradsh's on PyTorch\n" in ran.err

    def test_a_caught_failure_is_the_program_s(self, tmp_path: Path) -> None:
        text = TWICE.replace(
            'z.backward()\nprint("never")',"try:\n    z.backward()\nexcept RuntimeError as e:\n    print(type(e), e.__dict__)",
        )
        ran = self.run(tmp_path, text)
        assert (ran.status, ran.err) == (0, "")
        assert ran.out.endswith("<class 'RuntimeError'> {}\n")

    def test_modules_beside_the_program_are_its_own(self, tmp_path: Path) -> None:
        (tmp_path / "layers.py").write_text("def double(x):\n    y = x.exp()\n    return y\n", encoding="utf-8")
        ran = self.run(tmp_path, "import torch\nfrom layers import double\nz = double(torch.ones(2, requires_grad=True)).sum()\n"
                                 "z.backward()\nz.backward()\n")
        assert "layers.py:2" in ran.err
        assert "y = x.exp()" in ran.err

    def test_forked_and_loading_processes_go_on(self, tmp_path: Path) -> None:
        text = """import os, torch
from torch.utils.data import DataLoader
if __name__ == "__main__":
    loader = DataLoader(list(range(8)), batch_size=4, num_workers=1)
    print([batch.tolist() for batch in loader], flush=True)
    if os.fork() == 0:
        torch.ones(1, requires_grad=True).exp().backward()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
"""
        ran = self.run(tmp_path, text)
        assert (ran.status, ran.out) == (0, "[[0, 1, 2, 3], [4, 5, 6, 7]]\n0\n")

    def test_keep_going_runs_what_follows(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, TWICE, options=("--keep-going",))
        assert ran.status == 1
        assert ran.out.endswith("never\n")

    def test_fix_shows_the_edit_that_was_seen_to_work(self, tmp_path: Path) -> None:
        text = """import sys, torch
state = None
w = torch.ones(2, requires_grad=True)
for _ in range(3):
    if state is not None and sys.argv[1:] == ["a"]:
        pass
    state = w if state is None else state.exp() * w
    loss = state.sum()
    loss.backward()
open("ran.txt", "a").write("to the end ")
"""
        ran = self.run(tmp_path, text, "a", options=("--fix", "--plain"))
        assert ran.status == 1
        found = ran.err[ran.err.index("fix 1 of") :].splitlines()
        assert found[0].startswith("fix 1 of")
        edits = [line for line in found if line[:2] in {"- ", "+ "}]
        assert edits
        assert "tried in a copy of the program: the error is gone" in found
        assert (tmp_path / "prog.py").read_text(encoding="utf-8") == text
        assert (tmp_path / "ran.txt").read_text(encoding="utf-8") == "to the end "

    def test_a_pass_within_an_assignment_is_kept(self, tmp_path: Path) -> None:
        text = """import torch
x = torch.ones(3, requires_grad=True)
score = (x * x).sin()
slope, = torch.autograd.grad(score.sum(), x, retain_graph=False)
(score * slope).sum().backward()
"""
        ran = self.run(tmp_path, text, options=("--fix", "--plain"))
        assert "+ 4 | slope, = torch.autograd.grad(score.sum(), x, retain_graph=True)" in ran.err.splitlines()
        assert "tried in a copy of the program: the error is gone" in ran.err

    def test_fix_says_so_where_no_edit_is_known(self, tmp_path: Path) -> None:
        ran = self.run(tmp_path, "import torch\ntorch.ones(2).sum().backward(gradient=None, inputs=[])\n", options=("--fix",))
        assert "Traceback (most recent call last):" in ran.err
        assert "tried in a copy" not in ran.err

    def test_the_summary(self, tmp_path: Path) -> None:
        text = """import torch
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
idle = torch.nn.Linear(2, 2)
total = 0
for step in range(5):
    loss = net(torch.ones(3, 4)).mean()
    loss.backward()
    total = total + loss
"""
        ran = self.run(tmp_path, text, options=("--summary",))
        assert ran.status == 0
        page = ran.err
        assert "prog.py:7  loss.backward()" in page
        assert "prog.py:6  loss = net" in page
        assert "net[1]" in page
        assert "total is a running total that keeps the graphs of 5 iterations alive" in page
        assert "hint: idle.weight requires grad, but no backward reached it" in page

    def test_the_prompt_at_a_failure(self, tmp_path: Path) -> None:
        import os
        import pty

        (tmp_path / "prog.py").write_text(TWICE, encoding="utf-8")
        master, slave = pty.openpty()
        child = subprocess.Popen(
            [sys.executable, "-m", "gradsh", "trace", "-i", "prog.py"], cwd=tmp_path, stdin=slave, stdout=slave, stderr=slave,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, close_fds=True,
        )
        os.close(slave)
        os.write(master, b"buffers z\nprint(z.shape, 6 * 7)\ngraph nothing\nwhy\nvars --format svg\n1 / 0\nc\n")
        seen = b""
        try:
            while chunk := os.read(master, 65536):
                seen += chunk
        except OSError:  # the other end is closed
            pass
        assert child.wait(timeout=300) == 1
        text = seen.decode()
        assert "freed by line 6" in text
        assert "torch.Size([]) 42" in text
        assert "NameError: name 'nothing' is not defined" in text
        assert "freed here" in text.partition("NameError")[2]
        assert "'svg' is not one of text, json" in text
        assert "ZeroDivisionError" in text
        assert "During handling" not in text
        assert text.rstrip().splitlines()[-1].startswith("RuntimeError: Trying to backward")

    def test_a_module_runs_as_python_m_does(self, tmp_path: Path) -> None:
        (tmp_path / "pack").mkdir()
        (tmp_path / "pack" / "__init__.py").write_text("", encoding="utf-8")
        (tmp_path / "pack" / "__main__.py").write_text(
            "import sys, torch\nprint(__name__, __package__, sys.argv[1:])\nz = torch.ones(2, requires_grad=True).exp().sum()\n"
            "z.backward()\nz.backward()\n", encoding="utf-8",
        )
        ran = trace("-m", "pack", "--fast", folder=tmp_path)
        assert (ran.status, ran.out) == (1, "__main__ pack ['--fast']\n")
        assert "__main__.py:4" in ran.err or "4 | z.backward()" in ran.err
        assert trace("-m", "nothing_of_this_name", folder=tmp_path).status == 2

    def test_a_breakpoint_opens_the_prompt(self, tmp_path: Path) -> None:
        import os

        (tmp_path / "prog.py").write_text(
            "import torch\ndef f(x):\n    y = x.exp()\n    breakpoint()\n    return y.sum()\nprint(f(torch.ones(2, requires_grad=True)))\n",
            encoding="utf-8",
        )
        ran = subprocess.run(
            [sys.executable, "prog.py"], cwd=tmp_path, input="buffers y\nprint(6 * 7)\nc\n", capture_output=True, text=True, timeout=300,
            check=False, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONBREAKPOINT": "gradsh.lens.prompt"},
        )
        assert ran.returncode == 0, ran.stderr
        assert "ExpBackward0  result" in ran.stdout
        assert "42" in ran.stdout
        assert ran.stdout.rstrip().endswith("tensor(5.4366, grad_fn=<SumBackward0>)")


CALLED_BACK = """import torch
from gradsh import lens
made = {}
w = torch.nn.Parameter(torch.ones(3))

class Own(torch.optim.SGD):
    def step(self, closure=None):
        super().step()
        made["own step"] = w.exp()

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        with torch.enable_grad():
            made["custom backward"] = w.exp()
        return grad * 2

def closure():
    loss = (w * w).sum()
    made["closure"] = w.exp()
    loss.backward()
    return loss

def tensor_hook(grad):
    with torch.enable_grad():
        made["tensor hook"] = w.exp()

def step_hook(*_):
    made["step hook"] = w.exp()

w.register_hook(tensor_hook)
torch.optim.LBFGS([w], max_iter=1).step(closure)
own = Own([w], lr=0.1)
Double.apply(w).sum().backward()
own.step()
plain = torch.optim.SGD([w], lr=0.1)
plain.register_step_post_hook(step_hook)
plain.step()
failing = torch.optim.Adam([w])
failing.param_groups[0]["betas"] = None
try:
    failing.step()
except TypeError:
    made["failed step"] = w.exp()
for name, one in made.items():
    print(f'{lens.buffers(one).rows[0].saved_line} made["{name}"]')
"""


@pytest.mark.parity
def test_what_passes_and_optimizers_call_of_the_user_s_is_followed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "prog.py").write_text(CALLED_BACK, encoding="utf-8")
    ran = trace("prog.py", folder=tmp_path)
    assert (ran.status, ran.err) == (0, "")
    lines = CALLED_BACK.split("\n")
    found = [line.split(" ", 1) for line in ran.out.splitlines()]
    assert len(found) == 6
    assert all(lines[int(number) - 1].lstrip().startswith(text) for number, text in found), found


@pytest.mark.parity
def test_a_failure_in_a_thread_is_told(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "prog.py").write_text(
        "import threading, torch\ndef work():\n    z = torch.ones(2, requires_grad=True).exp().sum()\n    z.backward()\n    z.backward()\n"
        "t = threading.Thread(target=work)\nt.start()\nt.join()\nprint('done')\n", encoding="utf-8",
    )
    ran = trace("prog.py", folder=tmp_path)
    assert (ran.status, ran.out) == (0, "done\n")
    story, _, shown = ran.err.partition("Exception in thread")
    assert [line.split()[0] for line in story.splitlines() if line[:4].strip().isdigit()] == ["3", "4", "5"]
    assert "gradsh" not in shown
    assert "RuntimeError: Trying to backward" in shown


@pytest.mark.parity
def test_after_a_debugger_lines_are_followed_again(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "prog.py").write_text(
        "import sys, torch\nw = torch.ones(2, requires_grad=True)\nsys.settrace(None)\nlost = w.exp().sum()\nlost.backward()\n"
        "z = w.exp().sum()\nz.backward()\nfrom gradsh import lens\nprint([\n"
        "    lens.buffers(one).rows[0].saved_line for one in (lost, z)])\nz.backward()\n", encoding="utf-8",
    )
    ran = trace("prog.py", folder=tmp_path)
    story = ran.err.partition("PyTorch says")[0]
    assert [line.split()[0] for line in story.splitlines() if line[:4].strip().isdigit()] == ["6", "7", "11"]
    assert ran.out == ("[None, 6]\n" if sys.version_info < (3, 12) else "[4, 6]\n")


@pytest.mark.parity
def test_a_class_of_the_program_s_is_not_asked_about_versions(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = """import torch
from torch.overrides import TorchFunctionMode
calls = []
class Own(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        calls.append(function.__name__)
        return super().__torch_function__(function, types, args, kwargs or {})
class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        calls.append("mode " + function.__name__)
        return function(*args, **(kwargs or {}))
p = torch.zeros(2).as_subclass(Own)
p.add_(1)
p[0] = 3
with Mode():
    torch.zeros(2).mul_(2)
print(calls)
"""
    (tmp_path / "prog.py").write_text(text, encoding="utf-8")
    ran = trace("prog.py", folder=tmp_path)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == "['add_', '__setitem__', 'mode zeros', 'mode mul_']\n"


@pytest.mark.parity
def test_of_several_statements_on_a_line_the_one_that_ran_is_told(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "prog.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\nz = w.exp().sum(); z.backward(); print(w.shape)\nz.backward()\n",
        encoding="utf-8",
    )
    ran = trace("--plain", "prog.py", folder=tmp_path)
    line, saved, freed = ran.err.splitlines()[1:4]
    assert line == "  3 | z = w.exp().sum(); z.backward(); print(w.shape)"
    assert saved.startswith("    | ^^^^^^^^^^^^^^^^^ saved here: result")
    assert freed.startswith("    |                    ^^^^^^^^^^^^ freed here")
    assert "`z.backward(retain_graph=True)`" in ran.err


@pytest.mark.parity
def test_writes_through_out_are_told(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "prog.py").write_text(
        "import torch\nx, m = torch.randn(3), torch.empty(3)\nw = torch.ones(3, requires_grad=True)\ntorch.mul(x, 2, out=m)\n"
        "loss = (w * m).sum()\ntorch.sort(\n    x,\n    out=(m, torch.empty(3, dtype=torch.long)),\n)\nloss.backward()\n", encoding="utf-8",
    )
    story = trace("prog.py", folder=tmp_path).err.partition("PyTorch says")[0]
    assert "   6 | torch.sort(" in story
    assert "modified here, version 2" in story


def test_a_pytorch_that_is_too_old_is_refused(tmp_path: Path) -> None:
    fake = "import sys, types\ntorch = types.ModuleType('torch')\ntorch.__version__ = '2.3.1+cpu'\nsys.modules['torch'] = torch\n"
    program = f"{fake}sys.argv = ['gradsh', 'trace', 'x.py']\nfrom gradsh.__main__ import main\nmain()"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 2
    assert ran.stderr == "gradsh: PyTorch 2.3.1+cpu is too old: this needs 2.4 or later\n"
