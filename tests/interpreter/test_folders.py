"""Files and folders that a program makes: the session keeps them, and answers as Python does of a disk."""

import subprocess
import sys
from pathlib import Path

import pytest

from gradsh.contracts.events import Event, Failure, Print
from gradsh.session.session import Session

PROGRAM = """
import glob, os, pathlib, shutil, tempfile
import numpy as np

def tried(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, error)

here = os.getcwd()
print(os.path.isdir("."), os.path.isdir(".."), os.path.isdir(""), os.path.exists("d"), os.listdir())
for call in (
    lambda: open("m/a.txt", "w"), lambda: np.save("m/a", np.ones(1)), lambda: np.savez("m/a", np.ones(1)),
    lambda: np.savetxt("m/a", np.ones(1)), lambda: os.mkdir("q/r"), lambda: pathlib.Path("q/r").mkdir(), lambda: os.listdir("zz"),
    lambda: os.rmdir("zz"), lambda: os.remove("zz"), lambda: shutil.rmtree("zz"), lambda: shutil.rmtree("zz", ignore_errors=True),
    lambda: pathlib.Path("x/y").touch(), lambda: os.chdir("zz"), lambda: os.listdir(""), lambda: os.rename("zz", "d"),
    lambda: os.makedirs("d"), lambda: os.mkdir("d"), lambda: os.makedirs("d"), lambda: os.makedirs("d", exist_ok=True),
    lambda: pathlib.Path("d").mkdir(), lambda: open("d"), lambda: open("d", "w"), lambda: np.load("d"),
    lambda: pathlib.Path("q/r").mkdir(parents=True), lambda: pathlib.Path("q/r").mkdir(parents=True, exist_ok=True),
    lambda: open("f", "w").write("text"), lambda: os.mkdir("f"), lambda: os.makedirs("f", exist_ok=True), lambda: os.listdir("f"),
    lambda: os.rmdir("f"), lambda: os.rmdir("q"), lambda: os.remove("q"), lambda: sorted(os.listdir()), lambda: os.listdir("./q/"),
    lambda: sorted(map(str, pathlib.Path("q").iterdir())), lambda: sorted(map(str, pathlib.Path(".").glob("*"))),
    lambda: sorted(map(str, pathlib.Path("./q/").glob("**/*"))), lambda: sorted(map(str, pathlib.Path(".").rglob("*"))),
    lambda: sorted(glob.glob("*")), lambda: sorted(glob.glob("./*")), lambda: sorted(glob.glob("q/*")), lambda: glob.glob("**/r"),
    lambda: sorted(glob.glob("**", recursive=True)), lambda: glob.glob(here + "/q/*")[0].removeprefix(here),
    lambda: sorted((top, sorted(folders), files) for top, folders, files in os.walk(".")),
    lambda: os.rename("q", "qq"), lambda: os.path.exists("qq/r"), lambda: shutil.copy("f", "d"), lambda: shutil.move("f", "g"),
    lambda: os.path.exists("./d/../d/f"), lambda: os.path.getsize("d/f"), lambda: pathlib.Path("d").rename("e"),
    lambda: os.replace("e/f", "e/g"), lambda: sorted(glob.glob("*/*")), lambda: pathlib.Path("e").exists(),
    lambda: pathlib.Path("e").unlink(), lambda: pathlib.Path("e/zz").unlink(missing_ok=True), lambda: shutil.rmtree("qq"),
    lambda: os.path.exists("qq/r"), lambda: pathlib.Path("e").rmdir(), lambda: open("e/g").read(),
    lambda: os.path.relpath("/a/b", "/a"), lambda: os.path.relpath("a/b"), lambda: os.path.abspath("a/../b").removeprefix(here),
    lambda: str(pathlib.Path("a/../b").resolve()).removeprefix(here), lambda: os.path.realpath(".") == here,
    lambda: str(pathlib.Path("a/../b").absolute()).removeprefix(here), lambda: str(pathlib.Path.cwd()) == here,
    lambda: os.chdir("e"), lambda: os.path.basename(os.getcwd()), lambda: open("in", "w").write("x"), lambda: os.chdir(".."),
    lambda: open(here + "/e/in").read(), lambda: pathlib.Path("e/in").resolve().parent.name,
):
    tried(call)
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "a"), "w").close()
    os.makedirs(os.path.join(folder, "s"))
    print(sorted(os.listdir(folder)), os.path.isdir(folder))
print(os.path.isdir(folder))
"""


def run(text: str) -> tuple[str, list[str]]:
    """Return what a program printed, and how it failed."""
    events: list[Event] = []
    Session().run(text, events.append, name="script", keep_going=True)
    printed = "".join(event.text + "\n" * event.newline for event in events if type(event) is Print)
    return printed, [f"{event.problem.message} | {'; '.join(event.problem.help)}" for event in events if type(event) is Failure]


def test_folders_are_as_python_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert python.stderr == ""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    printed, failures = run(PROGRAM)
    assert failures == []
    assert printed == python.stdout


def test_what_is_saved_needs_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the disk will do: a program may have been started where it is."""
    monkeypatch.chdir(tmp_path)
    text = "torch.save(1, 'm/n/a.pt')\ntorch.save(1, 'a.pt')\nprint(torch.load('./a.pt'), torch.load('m/n/a.pt'))"
    _, failures = run("import torch\n" + text)
    assert failures[0] == (
        "Parent directory m/n does not exist. | make the folder first: `os.makedirs('m/n', exist_ok=True)`"
    )
    assert "No such file or directory: 'm/n/a.pt'" in failures[1]
    (tmp_path / "m" / "n").mkdir(parents=True)
    assert run("import torch\n" + text) == ("1 1\n", [])
    made = "import os, torch\nos.makedirs('x')\ntorch.save(None, 'x/a')\nprint(torch.load('x/a'), os.listdir('x'))"
    assert run(made) == ("None ['a']\n", [])
    assert list((tmp_path / "m" / "n").iterdir()) == []
