"""`gradsh check`: what a script's names stand for is found without running it, and nothing that works is blamed."""

from pathlib import Path

import pytest

from gradsh.contracts.events import Event, Warn
from gradsh.run.check import check_files, check_script
from gradsh.run.read import Script
from gradsh.run.script import RunOptions, refused, run
from gradsh.session.session import Session

SCRIPTS = sorted(Path(__file__).parents[2].glob("scripts/*.grad"))


def told(text: str) -> list[tuple[int, str, str]]:
    """Return (line, message, help) of the problems of a script."""
    _, problems = check_script(Script("script", text))
    return [(one.labels[0].span.line, one.message, " ".join(one.help)) for one in problems]


DTYPE_NAMES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8")
OTHERS = f"gradsh computes in {', '.join(DTYPE_NAMES)} and bool, not in"
WRONG = [
    ("x = torch.onse(2)", "module 'torch' has no attribute 'onse'", "did you mean `torch.ones`?"),
    ("import torch.nn as nn\nnn.linear(1, 2)", "module 'torch.nn' has no attribute 'linear'", "`torch.nn.functional.linear`"),
    ("from torch.optim import SDG", "cannot import name 'SDG' from 'torch.optim'", "`torch.optim.SGD`"),
    ("import torch\nimport torch\ntorch.fx(1)", "module 'torch' has no attribute 'fx'", "remove it"),
    ("import torch\nfrom torch import nn\nimport torch.nn as nn\nimport torch\nnn.Foo", "module 'torch.nn' has no attribute 'Foo'", ""),
    ("import numpy as np\nnp.int", "module 'numpy' has no attribute 'int'", "did you mean `int`?"),
    ("def f():\n    return los\nloss = f", "name 'los' is not defined", "did you mean `loss`"),
    ("import sklearn.metrics as m\nm.f1([1])", "gradsh has no module 'sklearn.metrics'", "make the data"),
    ("def g():\n    n: Left = 1\ndef f(x: Dict[str, int]): return x", "name 'Dict' is not defined", "from typing import Dict"),
    ("if False:\n    exec('1')", "`exec` is not part of gradsh", "write the statements"),
    ("x = torch.ones(2, dtype=torch.cfloat)", f"{OTHERS} complex64", "gradsh trace FILE"),
    ("x = torch.ones(2)\nx.cdouble()", f"{OTHERS} complex128", "gradsh trace FILE"),
    ("x = torch.ones(2)\nx.to(torch.uint16)", f"{OTHERS} uint16", "gradsh trace FILE"),
    ("x = torch.ones(2, device='meta')", "gradsh computes on the CPU, not on the device meta", "gradsh trace FILE"),
    ("import numpy\nnumpy.ma", "module 'numpy' has no attribute 'ma'", "gradsh trace FILE"),
    ("from torch.masked import masked_tensor as m\nm(1)", "gradsh has no 'torch.masked.masked_tensor'", "gradsh trace FILE"),
    ("x = (1,\n", "'(' was never closed", "close it"),
]


@pytest.mark.parametrize(("text", "message", "help_line"), WRONG, ids=[row[1] for row in WRONG])
def test_names_that_nothing_binds_are_told(text, message, help_line):
    ((line, said, helped),) = told(text)
    assert (said, help_line in helped) == (message, True)
    assert line == (1 if text.startswith("x = (") else text.rstrip().count("\n") + (0 if "los" in message else 1))


def test_a_name_in_a_function_that_nothing_names_is_a_warning() -> None:
    said: list[str] = []
    _, problems = check_script(Script("script", "def f():\n    return los\nprint(1)"), said.append)
    assert problems == []
    assert said == ["line 2: name 'los' is not defined; nothing names the function that it is in; did you mean `cos` or `log`?"]
    assert check_script(Script("module", "def f():\n    return los\n"), said.append)[1]  # others may call it


RIGHT = [
    "class Cut:\n    def half(self):\n        return self.left\nx = torch.ones(2)\nprint(Cut, x.float(), x.long(), x.to(torch.float64))",
    "with torch.autocast('cuda', dtype=torch.float16, enabled=False):\n    print(torch.ones(2).dtype == torch.float16)",
    "import numpy as np\nprint(np.newaxis, torch.version.cuda, __file__, __package__)\nmatch 3:\n    case _:\n        pass",
    "import matplotlib.pyplot as plt\nimport torch.distributed as dist",
    "import torch.nn.functional as F\ndef f(F):\n    return F.whatever\nclass F:\n    whatever = 1\nF.whatever",
    "try:\n    import numpy as np\nexcept ImportError:\n    np = None\nnp.zeros(2)",
    "print(live_bytes(), ones(2), Linear(1, 1), __name__)",
    "for i in range(2):\n    y = [j for j in range(i)]\n    with torch.no_grad() as m:\n        m\nprint(i, y)",
    "from torch import *\nwhatever_it_binds",
    "from __future__ import annotations\nx: Left = 1\ndef f(x: Left) -> Right:\n    return x",
    "import torch\ndef f(x: torch.jit.ScriptModule, e: EnvironmentError):\n    n: Left = 1\n    return n, x, e",
    ("from typing import TYPE_CHECKING\nimport typing\nif TYPE_CHECKING:\n    from torch.optim.optimizer import _params_t\n"
    "if typing.TYPE_CHECKING:\n    from torch.nn import Foo\ndef f(p: '_params_t') -> 'Foo':\n    pass"),
]


@pytest.mark.parametrize("text", RIGHT)
def test_what_may_be_meant_is_not_blamed(text):
    assert told(text) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_scripts_have_no_problem(path):
    assert told(path.read_text(encoding="utf-8")) == []


def test_what_stands_in_is_listed():
    said: list[str] = []
    _, problems = check_script(Script("script", "import wandb\nfrom tqdm.auto import tqdm\nimport numpy, tqdm as t"), said.append)
    assert problems == []
    assert [text.partition(" is a stub: ")[0] for text in said] == ["wandb", "tqdm"]


CALLS = """
import torch, os
from torch.cuda.amp import GradScaler as Scaler
from tqdm import tqdm
net = torch.compile(torch.nn.Linear(1, 1).cuda())
os.makedirs("x")
scaler = Scaler()
with open("f", "w") as file:
    file.write("x")
torch.save(net, "a.pt")
torch.ones(1).cuda
print(torch.cuda.is_available())
"""


def test_all_that_stands_in_is_told_at_once() -> None:
    """Modules, functions, classes and methods, each once."""
    sentences: list[str] = []
    assert check_script(Script("script", CALLS), sentences.append)[1] == []
    names = [sentence.partition(" is a stub")[0] for sentence in sentences]
    assert sorted(names) == sorted(["tqdm", "torch.compile", ".cuda()", "os.makedirs", "GradScaler", "open", "torch.save"])


def test_a_function_says_the_same_when_it_runs() -> None:
    events: list[Event] = []
    text = "import torch, os\nos.makedirs('x')\ntorch.save(1, 'a')\nf = torch.compile(print)\nopen('f', 'w').close()"
    Session().run(text, events.append, name="script")
    running = [event.message for event in events if type(event) is Warn]
    sentences: list[str] = []
    check_script(Script("script", text), sentences.append)
    assert len(running) == 4
    assert all(any(one.startswith(sentence) for sentence in sentences) for one in running)


def test_path_names_a_folder_of_modules(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Imports find what is below the folder, behind what is beside the script, and nothing above it."""
    library, script = tmp_path / "library", tmp_path / "work" / "main.py"
    for folder in (library / "parts", script.parent):
        folder.mkdir(parents=True)
    (library / "parts" / "net.py").write_text("size = 3\n")
    (library / "both.py").write_text("where = 'library'\n")
    (library / "out.py").symlink_to(tmp_path / "outside.py")
    (tmp_path / "outside.py").write_text("secret = 1\n")
    (script.parent / "both.py").write_text("where = 'beside'\n")
    script.write_text("from parts.net import size\nfrom both import where\nprint(size, where)\n")
    assert run(RunOptions((str(script),), path=(str(library),), owns_process=False)) == 0
    assert capfd.readouterr().out == "3 beside\n"
    assert check_files([str(script)], (str(library),)) == 0
    assert check_files([str(script)]) == 1
    assert "--path DIR" in capfd.readouterr().err
    script.write_text("from out import secret\nprint(secret + 1)\n")
    assert run(RunOptions((str(script),), path=(str(library),), owns_process=False)) == 1
    assert refused(RunOptions((str(script),), path=(str(tmp_path / "none"),)))
    assert "no such folder" in capfd.readouterr().err


def test_a_broken_file_beside_is_told_once_with_its_own_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "helper.py").write_text("a = 1\nprint 'loss'\n")
    (tmp_path / "main.py").write_text("import helper\nfrom helper import a, b\nprint(a)\n")
    assert check_files([str(tmp_path / "main.py")]) == 1
    error = capfd.readouterr().err
    assert error.count("error[") == 1
    assert "helper.py:2:1" in error
