"""Modules around the training loop: what is real does what Python's does, what stands in says so once and changes nothing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradsh.__main__ import SUBCOMMANDS
from gradsh.commands.explain import lookup
from gradsh.contracts.events import ErrorOutput, Event, Failure, Print, Warn
from gradsh.run import script
from gradsh.runtime.modules import MODULES, REAL, REFUSED_MODULE, STANDS_IN
from gradsh.session.session import Session

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def run(text: str) -> tuple[str, list[str], list[Failure], str]:
    """Return what a program printed, its warnings, its failures, and what it wrote to standard error."""
    events: list[Event] = []
    Session().run(text, events.append, name="script", keep_going=True)
    printed = "".join(event.text + "\n" * event.newline for event in events if type(event) is Print)
    warnings = [event.message for event in events if type(event) is Warn]
    errors = "".join(event.text for event in events if type(event) is ErrorOutput)
    return printed, warnings, [event for event in events if type(event) is Failure], errors


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_prints_what_python_prints(path: Path) -> None:
    """The programs use no torch, so that Python itself is the judge."""
    printed, warnings, failures, errors = run(path.read_text(encoding="utf-8"))
    python = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert failures == []
    assert warnings == []
    assert printed == python.stdout
    assert errors == python.stderr


@pytest.mark.parametrize("name", MODULES)
def test_each_entry_of_the_table_holds(name: str) -> None:
    module = MODULES[name]
    _, warnings, failures, _ = run(f"import {name}\nimport {name}\n{name}.no_such_name_at_all_")
    if module.how == STANDS_IN:
        assert warnings == [f"{name} is a stub: {module.why}"]
    else:
        assert warnings == []
    if module.how == REFUSED_MODULE:
        assert failures[0].problem.help[0] == module.why
    if module.how == REAL:
        assert failures[0].problem.kind == "attribute"


STAND_INS = """
from tqdm import tqdm
from tqdm.auto import trange
import matplotlib.pyplot as plt
import torch, os, io
from torch.cuda.amp import GradScaler, autocast
from torch.utils.tensorboard import SummaryWriter
torch.backends.cudnn.deterministic = True
torch.manual_seed(0)
net = torch.compile(torch.nn.DataParallel(torch.nn.Linear(2, 1)))
scaler, writer = GradScaler(), SummaryWriter("runs")
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in tqdm(range(2)):
    for _ in trange(2):
        with autocast():
            loss = net(torch.ones(1, 2)).sum()
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        writer.add_scalar("loss", loss.item(), step)
os.makedirs("out", exist_ok=True)
torch.save(net.state_dict(), "out/net.pt")
before = net.module.weight.detach().clone()
with torch.no_grad():
    net.module.weight.zero_()
net.load_state_dict(torch.load("out/net.pt", map_location="cpu"))
fig, axes = plt.subplots(1, 2)
axes[0].plot([1, 2])
plt.show()
with open("log.txt", "w") as f:
    print("done", file=f)
print(torch.equal(net.module.weight, before), os.path.exists("out/net.pt"), open("log.txt").read(), end="")
"""
PLAIN = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    loss = net(torch.ones(1, 2)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(net.weight.tolist())
"""


def test_stand_ins_say_so_once_and_change_no_number() -> None:
    printed, warnings, failures, _ = run(STAND_INS + "print(net.module.weight.tolist())")
    assert failures == []
    assert printed == "True True done\n" + run(PLAIN)[0]
    told = {warning.partition(" is a stub: ")[0] for warning in warnings}
    assert len(warnings) == len(told) == 10  # one says that autocast has another name now


def test_the_profiler_stands_in_and_decorated_functions_are_called() -> None:
    text = """
import torch
from torch.profiler import profile, record_function, ProfilerActivity, schedule
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2)) as prof:
    with record_function("product"):
        y = torch.ones(3, 3) @ torch.ones(3, 3)
    prof.step()
table = prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=10)
@record_function("f")
def f(x):
    return x + 1
with torch.autograd.profiler.profile(use_cuda=False), torch.autograd.profiler.record_function("z"):
    y = f(y)
prof.export_chrome_trace("trace.json")
print(y.sum())
"""
    printed, warnings, failures, _ = run(text)
    assert (printed, failures) == ("tensor(36.)\n", [])
    assert warnings == ["torch.profiler is a stub: it measures nothing; `gradsh run --profile FILE` shows the time of each line"]


def test_the_way_to_a_module_names_the_folder_that_the_program_adds() -> None:
    text = "import sys, os\n{}\nfrom src.nets import Net\nNet()"
    for added, folder in (("", "DIR"), ("sys.path.insert(0, os.path.join('runs', '..', 'lib'))", "lib"), ("sys.path.append('.')", ".")):
        way = run(text.format(added))[2][0].problem.help[0]
        assert way == f"name the folder that holds it with `--path {folder}`, or remove what needs it"


@pytest.mark.parametrize(("text", "way"), [
    ("import sys\nsys.modules[__name__]", "put what you look up into a dictionary"),
    ("torch.nn.__path__", "leave it out: no file holds it here"),
    ("import numpy\nnumpy.__file__", "leave it out: no file holds it here"),
])
def test_what_modules_say_of_themselves_has_a_way(text: str, way: str) -> None:
    assert run(text)[2][0].problem.help[0].startswith(way)


def test_results_of_a_class_of_tensors_are_told_to_be_plain() -> None:
    printed, warnings, failures, _ = run("class Mine(torch.Tensor):\n    pass\nclass Other(Mine):\n    pass\nprint(type(Mine([1.0]) * 2))")
    assert (printed, failures, len(warnings)) == ("<class 'torch.Tensor'>\n", [], 1)
    assert warnings[0].startswith("operations give plain tensors here")
    assert run("class Weight(torch.nn.Parameter):\n    pass\nprint(1)")[1] == []


def test_the_platform_is_told() -> None:
    text = "import platform\nprint(platform.platform(), platform.release(), platform.processor())"
    printed, warnings, failures, _ = run(text)
    system = os.uname()
    assert printed.startswith(f"{system.sysname}-{system.release}-{system.machine}")
    assert printed.endswith(f" {system.release} \n")
    assert failures == warnings == []


def test_the_bar_of_tqdm_auto_asks_for_an_iterator_when_it_is_made() -> None:
    """A data loader draws a seed for each iterator, so that its batches come in another order below that bar."""
    text = """
import torch
from tqdm{} import tqdm
from torch.utils.data import DataLoader
torch.manual_seed(0)
loader = DataLoader(range(8), batch_size=4, shuffle=True)
bar = tqdm(loader)
print(next(iter(bar)).tolist(), len(bar), tqdm(i for i in (1, 2)).iterable is not None, list(tqdm([3])))
"""
    assert run(text.format(""))[0] == "[2, 0, 5, 3] 2 True [3]\n"
    assert run(text.format(".auto"))[0] == "[7, 2, 0, 5] 2 True [3]\n"



def test_what_pytorch_alone_has_is_told_where_a_program_asks_for_it() -> None:
    asked = (
        "import torch\nprint(hasattr(torch, 'segment_reduce'), hasattr(torch, 'no_such_name'), getattr(torch.ones(1), 'to_sparse', 0))\n"
    )
    printed, warnings, failures, _ = run(asked + "hasattr(torch, 'segment_reduce')\ntorch.segment_reduce(3)")
    assert printed == "False False 0\n"
    assert [warning.split(" is not here")[0] for warning in warnings] == ["torch.segment_reduce", "torch.Tensor.to_sparse"]
    assert "PyTorch has `torch.segment_reduce`; gradsh does not" in failures[0].problem.notes
    assert "gradsh trace FILE" in failures[0].problem.help[0]


def test_a_caught_error_that_pytorch_does_not_raise_is_told() -> None:
    """The program goes on with its handler, which it does not run on PyTorch."""
    tried = ("torch.fft", "torch.ones(2).cfloat()", "torch.no_such_name", "torch.ones(2) @ torch.ones(3)", "[][0]")
    blocks = [f"try:\n    {one}\nexcept Exception as error:\n    print(type(error).__name__)\n" for one in tried]
    printed, warnings, failures, _ = run("import torch\n" + "".join(blocks))
    assert failures == []
    assert printed.split() == ["AttributeError", "TypeError", "AttributeError", "RuntimeError", "IndexError"]
    assert [warning.split(",")[0] for warning in warnings] == [
        "torch.fft is not here", "gradsh computes in float32",
    ]
    assert all(warning.endswith("(`gradsh trace FILE`)") for warning in warnings)



def test_what_pytorch_alone_has_can_be_imported_and_explains_itself_when_it_is_used() -> None:
    text = "import torch.utils.model_zoo as zoo\nfrom torch.utils import model_zoo\nfrom torch.optim import SparseAdam\nprint('on')\n"
    printed, _, failures, _ = run(f"{text}SparseAdam([])")
    assert printed == "on\n"
    assert failures[0].problem.message == "gradsh has no 'torch.optim.SparseAdam'"
    assert any("gradsh trace FILE" in line for line in failures[0].problem.help)


@pytest.mark.parametrize("text", ["torch.rang(3)", "import os\nos.sepp"])
def test_a_slip_gets_the_nearest_name_and_no_other_way(text: str) -> None:
    assert all("did you mean" in line for line in run(f"import torch\n{text}")[2][0].problem.help)


def test_a_program_reads_no_input() -> None:
    text = "import sys, os\nprint([*sys.stdin], repr(sys.stdin.readline()), os.system('clear'))\n"
    printed, warnings, failures, _ = run(text + "try:\n    input('n? ')\nexcept EOFError as e:\n    print(e)\ninput()")
    assert printed == "[] '' 0\nn? EOF when reading a line\n"
    assert [warning.partition(" is a stub")[0] for warning in warnings] == ["sys.stdin", "os.system"]
    assert "write the value in place of the call" in failures[0].problem.help[0]


def test_names_of_pylab_come_with_a_star() -> None:
    text = "from matplotlib.pylab import *\nplot([1, 2]); show()\nfrom pylab import rcParams\nrcParams['figure.figsize'] = 4, 4"
    assert run(text)[2] == []


@pytest.mark.parametrize("use", ["nothing['a'] = 1", "nothing + 1", "-nothing", "1 in nothing", "del nothing[0]", "with nothing: pass"])
def test_a_module_that_is_not_here_explains_itself_however_it_is_used(use: str) -> None:
    assert "gradsh has no module 'nothing'" in run(f"import nothing\n{use}")[2][0].problem.message


@pytest.mark.parametrize("text", [
    "import operator; operator.attrgetter('__class__.__bases__')(1)",
    "import operator; operator.attrgetter('__globals__')(lambda: 1)",
    "import operator; operator.methodcaller('__reduce__')(1)",
    "import argparse; argparse.ArgumentParser(fromfile_prefix_chars='@')",
    "import argparse; argparse.FileType('r')",
    "import argparse; argparse.ArgumentParser().add_argument('--x', dest='__class__')",
    "import argparse; argparse.ArgumentParser().set_defaults(__class__=3)",
    "import argparse; argparse.ArgumentParser()._inner",
    "import types; types.SimpleNamespace(__class__=int)",
    "import types; types.FunctionType(len, {})", "import types; types.CodeType",
    "import dataclasses; dataclasses.make_dataclass('A', ['x'])",
    "import dataclasses; dataclasses.dataclass(int)",
    "import json; json.dumps(1, cls=int)",
    "import string; string.Template('$x')",
    "import string; string.Formatter()",
    "import enum; enum.EnumType('A', (), {})",
    "import contextlib; contextlib.redirect_stdout([]).__enter__()",
    "import logging; logging.getLogger().manager",
    "import logging; logging.getLogger()._machine",
    "import sys; sys._getframe()",
    "import sys; sys.stdout._tell",
    "import sys; sys.stdout.buffer",
    "import os; os.popen('true')",
    "import os; os.path.os",
    "import pathlib; pathlib.Path('/etc').owner()",
    "import pathlib; pathlib.Path('x')._raw_paths",
    "import io; io.open_code('/etc/passwd')",
    "import io; io.FileIO('/etc/passwd')",
    "import weakref; weakref.finalize",
    "import re; re._compiler",
    "import traceback; traceback.walk_stack",
    "import gc; gc.get_referrers(1)",
    "import matplotlib; matplotlib.x.__class__.__bases__",
    "f = open('x', 'w'); f._lines",
    "import datetime; datetime.datetime.now().__reduce__()",
    "import abc\nclass A(abc.ABC): pass\nA._abc_impl.__class__.__bases__",
    "import enum\nclass E(enum.Enum):\n    A = 1\nE.__members__",
    "import enum\nclass E(enum.Enum):\n    A = 1\nE.A.__objclass__",
])  # fmt: skip
def test_no_module_leads_out(text: str) -> None:
    failures = run(text)[2]
    assert failures
    assert failures[-1].problem.kind in {"attribute", "name", "type", "value"}


def test_lines_of_a_log_are_read_from_its_file() -> None:
    text = "import logging\nlog = logging.getLogger('run')\nhandler = logging.FileHandler('run.log', mode='w')\n"
    text += "handler.setFormatter(logging.Formatter('%(levelname)s %(message)s'))\nlog.addHandler(handler)\nlog.error('step %d', 3)\n"
    printed, warnings, failures, errors = run(text + "print(open('run.log').read(), end='')")
    assert (printed, failures, errors) == ("ERROR step 3\n", [], "")
    assert ["run.log" in one for one in warnings] == [True]


def test_what_one_thread_cannot_do_is_refused_with_both_ways() -> None:
    for text in ("import queue\nqueue.Queue().get()", "import threading\nthreading.Thread(target=print)",
                 "from multiprocessing import Pool\nPool(2)"):
        failure = run(text)[2][0]
        assert "gradsh trace" in " ".join(failure.problem.help), text


def test_what_two_programs_share_is_not_changed_by_one() -> None:
    first = "import torch, os, sys, logging\ntorch.backends.cudnn.benchmark = True\nos.environ['A'] = '1'\nopen('f', 'w').write('x')\n"
    first += "sys.argv.append('y')\nlogging.basicConfig(level='DEBUG')"
    assert run(first)[2] == []
    second = "import torch, os, sys, logging\nprint(torch.backends.cudnn.benchmark, os.environ.get('A'), os.path.exists('f'), sys.argv[1:])"
    printed, _, failures, errors = run(second + "\nlogging.info('no')")
    assert (printed, failures, errors) == ("False None False []\n", [], "")


def test_numpy_reads_what_the_program_wrote_and_nothing_else() -> None:
    printed, warnings, failures, _ = run(
        "import numpy as np\nnp.savetxt('a.csv', np.arange(4.).reshape(2, 2), delimiter=',')\n"
        "print(np.loadtxt('a.csv', delimiter=','), np.genfromtxt('a.csv', delimiter=',', skip_header=1))\n"
        "np.save('b', np.arange(3))\nnp.savez('c', x=np.ones(2))\nprint(np.load('b.npy'), np.load('c.npz')['x'])\n"
        "print(np.mgrid[0:2, 0:2].shape, np.r_[1:3, 0], np.vectorize(lambda v: v + 1)(np.arange(2)))\n"
        "np.loadtxt('/etc/passwd')\nnp.load('/etc/passwd')\nnp.array([1]).tofile('x')\nnp.vectorize(lambda v: [v])(np.arange(2))\n"
        "np.save('d', {'x': np.ones(2)})"
    )
    assert printed == "[[0. 1.]\n [2. 3.]] [2. 3.]\n[0 1 2] [1. 1.]\n(2, 2, 2) [1 2 0] [1 2]\n"
    assert len(warnings) == 2
    assert [failure.problem.kind for failure in failures] == ["io", "io", "attribute", "type", "type"]
    assert "gradsh trace FILE" in " ".join(failures[-1].problem.help)


def test_axes_are_as_many_as_were_asked_for() -> None:
    printed, _, failures, _ = run(
        "import matplotlib.pyplot as plt\nf, axs = plt.subplots(4, 3)\n(a, b, c), *rest = axs\naxs[1, 2].plot([1])\naxs[0][1].axis()\n"
        "print(len(list(zip(axs[0, :], axs[:, 0]))), len(axs.flatten()), len(axs.flat), axs[1:].shape)\n"
        "f, (a, b) = plt.subplots(1, 2)\nf, ax = plt.subplots()\nax.plot([1])\n"
        "line, = plt.plot([1], label='a')\none, two = axs[0, 1].plot([1], [2], 'r', [1], [2])\nn, bins, bars = ax.hist([1])\naxs[4]"
    )
    assert printed == "3 12 12 (3, 3)\n"
    assert [failure.problem.kind for failure in failures] == ["index"]


def test_only_weights_are_loaded_unless_the_program_asks_for_more() -> None:
    """PyTorch's loader refuses objects of other classes since 2.6."""
    printed, _, failures, _ = run(
        "import torch, pickle\nimport numpy as np\nnet = torch.nn.Linear(1, 1)\n"
        "torch.save({'net': net.state_dict(), 'epoch': 1, 'shape': net.weight.shape}, 'a')\nprint(torch.load('a')['epoch'])\n"
        "torch.save(net, 'b')\nprint(torch.load('b', weights_only=False))\n"
        "class Config:\n    size = 3\ntorch.save(Config(), 'd')\n"
        "with torch.serialization.safe_globals([Config]):\n    print(torch.load('d').size)\n"
        "torch.save({'loss': np.float64(1)}, 'c')\ntorch.load('b')\ntorch.load('c')\n"
        "try:\n    torch.load('b')\nexcept pickle.UnpicklingError as error:\n    print('refused')"
    )
    assert printed == "1\nLinear(in_features=1, out_features=1, bias=True)\n3\nrefused\n"
    assert [failure.problem.message.partition(".")[0] for failure in failures] == ["Weights only load failed"] * 2


def test_copies_of_attributes_are_dictionaries() -> None:
    printed, _, failures, _ = run(
        "import copy\nclass Config:\n    pass\nc = Config()\nc.sizes = [1]\nheld = copy.deepcopy(c.__dict__)\nheld['sizes'].append(2)\n"
        "copy.copy(vars(c))['more'] = 1\nprint(c.sizes, held, type(held), type(vars(c)), hasattr(c, 'more'))\n"
        "torch.save({'config': vars(c)}, 'f')\nprint(torch.load('f'))"
    )
    assert printed == "[1] {'sizes': [1, 2]} <class 'dict'> <class 'dict'> False\n{'config': {'sizes': [1]}}\n"
    assert failures == []


def test_paths_keep_texts_in_the_session() -> None:
    printed, _, failures, _ = run(
        "from pathlib import Path\nplace = Path('vocabulary') / 'words.txt'\nplace.parent.mkdir()\n"
        "place.write_text('a\\nb', encoding='utf-8')\n"
        "print(place.read_text(encoding='utf-8').split(), place.exists())"
    )
    assert (printed, failures) == ("['a', 'b'] True\n", [])


def test_paths_are_values_as_python_has_them() -> None:
    printed, _, failures, _ = run(
        "import os\nfrom pathlib import Path\nplace = Path('runs') / 'a' / 'model.tar.gz'\n"
        "print(os.path.join(place.parent, 'x'), place.with_suffix('.pt'), place.suffixes, place.parents[1], 'top' / place)\n"
        "print(place.relative_to('runs'), place == Path('runs/a/model.tar.gz'), sorted([Path('b'), Path('a')]))"
    )
    assert failures == []
    assert printed == (
        "runs/a/x runs/a/model.tar.pt ['.tar', '.gz'] runs top/runs/a/model.tar.gz\n"
        "a/model.tar.gz True [PosixPath('a'), PosixPath('b')]\n"
    )


def test_files_beside_the_script_are_imported_and_named(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "layers.py").write_text("from torch import nn\ndef linear(i, o):\n    return nn.Linear(i, o)\n")
    (tmp_path / "nets" / "model.py").write_text(
        "from .layers import linear\nclass Net:\n    def __init__(self):\n        self.l = linear(2, 1)\n"
        "    def loss(self, x):\n        return self.l(x).pow(2).mean()\n"
    )
    (tmp_path / "settings.py").write_text("SEED = 3\ndef seed():\n    return SEED\n")
    train = tmp_path / "train.py"
    train.write_text(
        "import torch\nimport settings\nfrom nets.model import Net\nfrom settings import *\nsettings.SEED = 4\nprint(seed(), SEED)\n"
        "loss = Net().loss(torch.ones(1, 2))\nloss.backward()\nloss.backward()\n"
    )
    (tmp_path / "broken.py").write_text("x = (\n")
    (tmp_path / "other.py").write_text("import broken\n")
    gradsh = [sys.executable, "-m", "gradsh"]
    done = subprocess.run([*gradsh, train], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "4 3\n")
    assert f"{tmp_path}/nets/model.py:6:" in done.stderr
    assert "self.l(x).pow(2).mean()" in done.stderr
    assert f"{train}:9:1" in done.stderr
    checked = subprocess.run([*gradsh, "check", train], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    failed = subprocess.run([*gradsh, tmp_path / "other.py"], capture_output=True, text=True, check=False)
    assert "was never closed" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_file_outside_the_scripts_folder_is_not_read(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.py").write_text("KEY = 1\n")
    (inner / "linked.py").symlink_to(tmp_path / "secret.py")
    for line in ("import secret\nsecret.KEY", "import linked\nlinked.KEY", "from .. import secret", "from ..secret import KEY"):
        taken = inner / "script.py"
        taken.write_text(line)
        done = subprocess.run([sys.executable, "-m", "gradsh", taken], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr


def test_memory_that_ran_out_is_accounted_for() -> None:
    failures = run(
        "import torch\nw = torch.ones(1000, requires_grad=True)\nkept = []\ndef step():\n    held = (w * 2).exp()\n"
        "    kept.append(held)\n    raise MemoryError('Unable to allocate 9 GiB')\nstep()"
    )[2]
    problem = failures[0].problem
    assert problem.kind == "limit"
    assert problem.message == "out of memory: Unable to allocate 9 GiB"
    assert problem.notes[0].startswith("held now: 4.0 kB by leaves, 4.0 kB by variables")
    assert "held (4.0 kB)" in problem.notes[1]
    assert "kept (4.0 kB)" in problem.notes[1]
    assert any("torch.no_grad()" in line for line in problem.help)
    asked = run("import torch\nw = torch.ones(1000, requires_grad=True)\nheld = w.exp()\nx = torch.zeros(10 ** 14)")[2][0].problem
    assert asked.message.endswith("can't allocate memory: you tried to allocate 400000000000000 bytes.")
    assert "4.0 kB of it is saved for backward" in asked.notes[0]
    assert "held (4.0 kB)" in asked.notes[1]
    assert [kind.name for kind in lookup("oom")] == [kind.name for kind in lookup("CUDA out of memory")] == ["limit"]


def test_what_is_no_program_is_named_for_what_it_is(tmp_path: Path) -> None:
    printed, warnings, failures, _ = run("$ python train.py --lr 1\nprint(1)")
    assert (printed, failures) == ("1\n", [])
    assert "terminal" in warnings[0]
    failures = run("x = 1\nTraceback (most recent call last):\n  File 'a.py'")[2]
    assert "traceback of a run" in failures[0].problem.message
    done = subprocess.run([sys.executable, "-m", "gradsh", "tset"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "did you mean `gradsh test`?" in done.stderr
    assert set(script.SUBCOMMANDS) == SUBCOMMANDS


def test_a_device_is_refused_where_it_is_used() -> None:
    printed, _, failures, _ = run(
        "import torch\nd = torch.device('cuda:1')\nprint(d, d.index, d == torch.device('cuda', 1))\ntorch.ones(1).to(d)"
    )
    assert printed == "cuda:1 1 True\n"
    assert failures[0].line == 4


def test_the_default_device_is_the_cpu_and_another_is_refused_by_factories() -> None:
    printed, warnings, failures, _ = run(
        "import torch\ntorch.set_default_device('cpu')\nprint(torch.get_default_device(), torch.backends.mkldnn.is_available())\n"
        "torch.set_default_tensor_type(torch.DoubleTensor)\nprint(torch.ones(1).dtype)\n"
        "torch.set_default_device('cuda')\ntorch.ones(1)\ntorch.ones(1, device='cpu').cuda(0)\ntorch.device(0)"
    )
    assert printed == "cpu True\ntorch.float64\n"
    assert "deprecated" in warnings[0]
    assert [failure.problem.message.split()[0] for failure in failures] == ["Torch", "Cannot", "Cannot"]


def test_arrays_are_resized_in_place() -> None:
    printed, _, failures, _ = run(
        "import numpy as np\nx = np.arange(4.0)\nx.resize((4, 1))\nprint(x.shape)\nx.resize(2, 2)\nprint(x.shape)\nx.resize(8)"
    )
    assert printed == "(4, 1)\n(2, 2)\n"
    assert [failure.line for failure in failures] == [7]
    assert "numpy.resize" in failures[0].problem.help[0]


def test_pylab_gives_arrays_and_plots() -> None:
    text = "from matplotlib.pylab import *\nstyle.use('ggplot')\nprint(linspace(0, pi, 2)[0], max([1, 2]))\n"
    text += "plot([1])\nmatplotlib.a() + gca().b"
    printed, _, failures, _ = run(text)
    assert (printed, failures) == ("0.0 2\n", [])


def test_a_device_stands_in_with() -> None:
    within = "with torch.device('meta'): torch.ones(1)"
    printed, _, failures, _ = run(f"import torch\nwith torch.device('cpu') as d:\n    print(d, torch.ones(1))\n{within}")
    assert printed == "cpu tensor([1.])\n"
    assert "the device meta" in failures[0].problem.message


def test_unions_of_types_stand_in_isinstance() -> None:
    printed, _, failures, _ = run(
        "import torch, numpy as np\nfrom typing import Optional\nA, D = torch.Tensor | np.ndarray | None, torch.device | str\n"
        "print(isinstance(np.ones(1), A), isinstance(None, A), isinstance(1, A))\n"
        "print(isinstance('cpu', D), isinstance(torch.device('cpu'), D))\n"
        "print(isinstance(None, Optional[int]), isinstance(range(2), range | int), isinstance(b'a', bytes | str), torch.device)\n"
        "isinstance(1, (str, None))"
    )
    assert printed == "True True False\nTrue True\nTrue True True <class 'torch.device'>\n"
    assert [failure.line for failure in failures] == [7]


def test_names_come_from_the_files_that_pytorch_keeps_them_in() -> None:
    printed, _, failures, _ = run(
        "import torch\nfrom torch.autograd.grad_mode import no_grad\nfrom torch.nn.utils.weight_norm import weight_norm\n"
        "print(no_grad is torch.no_grad, weight_norm is torch.nn.utils.weight_norm, torch.nn.utils.clip_grad.clip_grad_norm_)"
    )
    assert (printed[:9], failures) == ("True True", [])


def test_a_module_of_optim_is_no_bare_name() -> None:
    printed, _, failures, _ = run("print(Adam.__name__, ones(1).size)\noptimizer.step()\nlr_scheduler")
    assert re.fullmatch("Adam <built-in method size of Tensor object at 0x[0-9a-f]+>\n", printed)
    assert [failure.problem.kind for failure in failures] == ["name", "name"]


def test_the_switches_of_cudnn_hold_within_a_block() -> None:
    printed, _, failures, _ = run(
        "import torch\nb = torch.backends.cudnn\nb.benchmark = True\n"
        "with b.flags(deterministic=True):\n    print(b.deterministic, b.benchmark)\nprint(b.deterministic, b.benchmark)"
    )
    assert (printed, failures) == ("True False\nFalse True\n", [])


@pytest.mark.parametrize(("text", "way"), [
    ("torch.complex(1, 2)", "no complex numbers"), ("torch.eye(2).to_sparse()", "dense"), ("import gc; gc.get_referrers(1)", "holders"),
    ("from functools import singledispatchmethod as s\ns(len)", "leave out what needs it"),
    ("from functools import singledispatchmethod\nclass A(singledispatchmethod): pass", "leave out"),
    ("import functools; functools.singledispatchmethod", "run the program"),
    ("print(torch.Tensor.__mro__)", "run the program"), ("print(torch.autograd.Function.__dict__)", "run the program"),
    ("import typing\ntyping.get_type_hints(print)", "dictionary"), ("import wave; wave.open", "leave out what needs it"),
    ("import pytorch_lightning as pl\nclass Net(pl.LightningModule):\n    pass", "nn.Module"),
])  # fmt: skip
def test_what_is_not_here_names_both_ways(text: str, way: str) -> None:
    problem = run(f"import torch\n{text}")[2][0].problem
    assert way in problem.help[0]
    assert any("gradsh trace FILE" in line for line in problem.help)


def test_a_name_of_a_module_is_not_called_a_module() -> None:
    for text in (
        "from torchvision.models import resnet18 as r\nr()", "from torch.fx import symbolic_trace as s\ns(1)",
        "from torch.nn.common_types import _size_2_t as s\ndef f(x: s = 1) -> s: pass\ns(1)",
    ):
        assert run(text)[2][0].problem.message.split("'")[0] == "gradsh has no "


def test_names_that_only_python_has_are_idle_until_they_are_used() -> None:
    assert run("from functools import singledispatchmethod\nfrom os import getenvb, walk\nprint(1)")[::2] == ("1\n", [])
    assert run("from functools import nothing_at_all")[2][0].problem.message == "cannot import name 'nothing_at_all' from 'functools'"


TRIED = """
def load(kind):
    try:
        {imports}
        return 'here'
    except {caught}:
        {other}
    return 'not here'
print(load(1))
"""


@pytest.mark.parametrize("caught", ["ImportError", "ModuleNotFoundError as error", "(ValueError, ImportError)", "Exception"])
@pytest.mark.parametrize("imports", ["import scipy", "from sklearn.manifold import TSNE", "import apex.amp as a", "if kind: import cv2"])
def test_a_tried_import_takes_the_other_way_and_says_so(imports: str, caught: str) -> None:
    printed, warnings, failures, _ = run(TRIED.format(imports=imports, caught=caught, other="pass") * 2)
    assert (printed, failures) == ("not here\n" * 2, [])
    assert [" ".join(one.split()[:4]) for one in warnings] == ["gradsh has no module"]
    assert warnings[0].endswith("the program goes on at its `except`")


@pytest.mark.parametrize(("imports", "caught", "other"), [
    ("import scipy", "ImportError", "raise ImportError('install scipy')"), ("import scipy", "ImportError", "sys.exit('install it')"),
    ("import scipy", "ValueError", "pass"), ("import json", "ImportError", "pass"), ("from torch import nn", "ImportError", "pass"),
])  # fmt: skip
def test_an_import_without_another_way_is_idle_until_it_is_used(imports: str, caught: str, other: str) -> None:
    assert run("import sys\n" + TRIED.format(imports=imports, caught=caught, other=other))[:3] == ("here\n", [], [])


def test_a_loader_gives_passes_with_a_length_and_no_next() -> None:
    text = "from torch.utils.data import DataLoader\nit = iter(DataLoader(range(10), batch_size=4))\n"
    assert run(f"{text}print(len(it), [len(b) for b in it], next(it, None), iter(it) is it)")[::2] == ("3 [4, 4, 2] None True\n", [])
    problem = run(f"{text}it.next()")[2][0].problem
    assert problem.message == "'_SingleProcessDataLoaderIter' object has no attribute 'next'"
    assert problem.help == ("write `next(it)`",)


def test_how_arrays_print_is_one_programs_affair() -> None:
    text = "import numpy as np\nnp.set_printoptions(precision=1)\na = np.array([1.25])\n'a'\nprint(a)"
    assert run(text)[:2] == ("[1.2]\n", [])
    assert run("import numpy as np\nprint(np.array([1.25]))")[0] == "[1.25]\n"
    assert run(f"{text}\nraise SystemExit")[0] == "[1.2]\n"
    assert str(np.array([1.25])) == "[1.25]"


def test_a_gpu_is_ignored_where_the_command_line_says_so(tmp_path: Path) -> None:
    wanted = tmp_path / "gpu.py"
    wanted.write_text(
        "import torch\nm = torch.nn.Linear(1, 1).cuda().to('cuda:0')\nprint(m.weight.device, torch.ones(1, device='cuda').cuda())\n"
    )
    right = "cpu tensor([1.])\n"
    for options, printed in ((["--cuda", "ignore"], right), (["--cuda=ignore", "--profile"], right), ([], "")):
        command = [sys.executable, "-m", "gradsh", "run", *options, wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout.startswith(printed)
        assert done.returncode == (0 if printed else 1)


def test_saved_objects_pass_through_files_of_the_session() -> None:
    printed, _, failures, _ = run(
        "import io, os, pickle, shutil, torch\nbuffer = io.BytesIO()\ntorch.save({'w': torch.ones(2)}, buffer)\nbuffer.seek(0)\n"
        "print(torch.load(buffer))\nwith open('a.pt', 'wb') as f:\n    pickle.dump([1], f)\nshutil.copyfile('a.pt', 'b.pt')\n"
        "print(torch.load('b.pt'), pickle.loads(pickle.dumps((1, 2))))\nos.remove('b.pt')\ntorch.load('b.pt')"
    )
    assert printed == "{'w': tensor([1., 1.])}\n[1] (1, 2)\n"
    assert failures[0].problem.kind == "io"


def test_signatures_print_as_written() -> None:
    printed = run(
        "import inspect\ndef f(a, b: int, *args, c: float = 1.5, d='x', **kw): pass\n"
        "print(inspect.signature(f), repr(inspect.signature(f)), list(inspect.signature(f).parameters)[:2])"
    )[0]
    text = "(a, b: int, *args, c: float = 1.5, d='x', **kw)"
    assert printed == f"{text} <Signature {text}> ['a', 'b']\n"


def test_windows_slide_over_arrays_and_strides_are_not_given() -> None:
    printed, _, failures, _ = run(
        "import numpy as np\nfrom numpy.lib.stride_tricks import sliding_window_view\nprint(sliding_window_view(np.arange(4), 3))\n"
        "np.lib.stride_tricks.as_strided(np.arange(4), (2,), (8,))"
    )
    assert printed == "[[0 1 2]\n [1 2 3]]\n"
    assert "sliding_window_view" in failures[0].problem.help[0]


def test_texts_have_a_size_and_kept_objects_say_that_they_have_none() -> None:
    printed, _, failures, _ = run(
        "import os, torch\nwith open('a.txt', 'w') as f:\n    n = f.write('añb')\nprint(os.path.getsize('a.txt'))\n"
        "torch.save({'w': torch.ones(2)}, 'a.pt')\nos.path.getsize('a.pt')"
    )
    assert printed == "4\n"
    assert "leave its size out" in failures[0].problem.help[0]


def test_a_device_is_set_as_without_cuda() -> None:
    assert run("import torch\ntorch.cuda.set_device(0)")[2][0].problem.message == "module 'torch._C' has no attribute '_cuda_setDevice'"


def test_the_tensor_types_of_a_gpu_are_values_that_are_refused_where_they_are_used() -> None:
    given = "import torch\nkind = torch.cuda.FloatTensor\nprint(kind, isinstance(torch.ones(1), kind))\n"
    for use in ("kind([1.])", "torch.ones(1).type(kind)", "torch.ones(1).type('torch.cuda.FloatTensor')"):
        printed, _, failures, _ = run(given + use)
        assert printed == "<class 'torch.cuda.FloatTensor'> False\n"
        assert "Torch not compiled with CUDA enabled" in failures[0].problem.message


def test_a_module_without_tensors_is_moved_anywhere() -> None:
    """PyTorch asks tensor by tensor, so that a loss function is moved where there is no such device."""
    moved = "import torch\nloss = torch.nn.MSELoss().cuda().cuda(0).to('cuda:0').to(torch.device('cuda'))\nprint(loss)\n"
    printed, _, failures, _ = run(moved)
    assert (printed, failures) == ("MSELoss()\n", [])
    for line in ("torch.nn.ReLU().to('foo')", "torch.nn.ReLU().to(0)", "torch.nn.Linear(1, 1).to(0)", "torch.nn.BatchNorm1d(1).cuda()"):
        assert run("import torch\n" + line)[2], line


def test_cuda_takes_a_gpu_only() -> None:
    for line in ("torch.ones(1).cuda('cpu')", "torch.ones(1).cuda(torch.device('cpu'))", "torch.nn.Linear(1, 1).cuda('meta')"):
        assert run("import torch\n" + line)[2][0].problem.message == "Invalid device, must be cuda device"


def test_a_device_is_the_default_one_within_a_with() -> None:
    assert run("import torch\nwith torch.device('cpu') as d:\n    print(d, torch.ones(1))")[0] == "cpu tensor([1.])\n"
    failure = run("import torch\nwith torch.device('cuda'):\n    torch.ones(1)")[2][0]
    assert failure.problem.message == "Torch not compiled with CUDA enabled"


def test_the_summary_of_memory_has_the_sessions_counts() -> None:
    text = "import torch\nx = torch.ones(1000)\nprint(torch.cuda.memory_stats()['allocated_bytes.all.current'], "
    printed = run(text + "torch.cuda.memory_summary())")[0]
    assert printed.startswith("4000 held by tensors and graphs now")
    assert "4,000 B" in printed


def test_the_counters_of_cuda_count_what_the_session_holds() -> None:
    printed = run(
        "import torch\nx = torch.ones(1000, requires_grad=True)\nz = (x * x).exp().sum()\nprint(torch.cuda.memory_allocated())\n"
        "z.backward()\nprint(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated('cuda') >= 8004)"
    )[0]
    assert printed == "8004\n8004 True\n"


@pytest.mark.parametrize(("function", "told"), [
    ("lambda x: x * x.item()", True), ("lambda x: x if x > 0 else -x", True), ("lambda x: x * float(x)", True),
    ("lambda x: torch.where(x > 0, x, -x)", False), ("torch.func.grad(lambda x: x.sin())", False),
])  # fmt: skip
def test_a_value_that_is_read_within_vmap_is_told(function: str, told: bool) -> None:
    _, warnings, failures, _ = run(f"import torch\ntorch.vmap({function})(torch.ones(2))")
    assert failures == []
    assert len([text for text in warnings if "within vmap, PyTorch refuses" in text]) == told


def test_compiled_functions_and_modules_run_as_python() -> None:
    text = """
import torch
from torch import jit
calls = []
class Net(torch.nn.Module):
    factor: jit.Final[int]
    def __init__(self):
        super().__init__()
        self.factor = 2
        self.line = torch.nn.Linear(2, 1)
    def forward(self, x):
        calls.append(torch.is_grad_enabled())
        return self.line(x) * self.factor
    @torch.jit.export
    def width(self) -> int:
        return self.line.in_features
net = Net()
traced = jit.trace(net, torch.ones(1, 2))
print(calls, isinstance(traced, Net), traced.line is net.line)
scripted = torch.jit.script(net).eval()
scripted.save("net.pt")
again = torch.jit.load("net.pt")
print(again.width(), again.training, torch.equal(again(torch.ones(1, 2)), net(torch.ones(1, 2))))
@torch.jit.script
def double(x: torch.Tensor, times: int = 1):
    for _ in range(times):
        x = x * 2
    return x
print(double(torch.ones(2), 3).tolist(), torch.jit.is_scripting())
"""
    printed, warnings, failures, _ = run(text)
    assert failures == []
    assert printed == "[True, False, False] True True\n2 False True\n[8.0, 8.0] False\n"
    assert [warning.split(" is a stub")[0] for warning in warnings] == ["torch.jit.trace", "torch.jit.script", "torch.save"]
