"""Streams and exit status: the same for FILE, -c and standard input."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import BOUND, left_of, program, wait_until
from tests.sweep import part

FAILING = "print('before')\nnonsense\nprint('after')\n"


@pytest.fixture(params=part(["file", "run", "code", "stdin", "dash"], 2))
def start(request: pytest.FixtureRequest, gradsh: Callable, tmp_path: Path) -> Callable:
    """Run a text in one of the ways in which a script can be given."""
    def run(text: str, *options: str):
        (tmp_path / "s.grad").write_text(text)
        match request.param:
            case "file":
                return gradsh(*options, "s.grad")
            case "run":
                return gradsh("run", *options, "s.grad")
            case "code":
                return gradsh(*options, "-c", text)
            case "stdin":
                return gradsh(*options, text=text)
            case _:
                return gradsh(*options, "-", text=text)

    return run


def test_output_and_diagnostics_go_apart(start: Callable) -> None:
    done = start(FAILING)
    assert (done.status, done.out) == (1, "before\n")
    first, *lines = done.err.splitlines()
    assert first == "error[name]: name 'nonsense' is not defined"
    assert lines[0] in {"  --> s.grad:2:1", "  2 | nonsense"}, "a text without a file names none"
    assert "\n".join(lines[lines[0].startswith("  -->"):]).startswith("  2 | nonsense\n    | ^^^^^^^^")
    assert "\x1b" not in done.out + done.err


def test_a_python_file_shows_what_it_prints_and_no_values(gradsh: Callable, tmp_path: Path) -> None:
    for name, out in (("s.grad", "3\ntensor([2., 2.])\nend\n"), ("s.py", "end\n")):
        (tmp_path / name).write_text("1 + 2\nones(2) * 2\nprint('end')\n")
        assert gradsh(name).out == out


def test_keep_going(start: Callable) -> None:
    done = start(FAILING, "--keep-going")
    assert (done.status, done.out) == (1, "before\nafter\n")


def test_success_is_silent_on_standard_error(start: Callable) -> None:
    assert start("print(1 + 1)\n'text'\nNone\n3\n") == (0, "2\n3\n", "")


def test_announced_failures_do_not_count(start: Callable) -> None:
    done = start("nonsense\n#! error[name]: [..]\n#! ...\nprint('on')\n")
    assert (done.status, done.out) == (0, "on\n")
    assert "error[name]" in done.err


def test_json(start: Callable) -> None:
    done = start("print('a\\nb')\n1.5\nx = 1 / 0\n", "--format", "json")
    assert done.status == 1
    assert done.events[:2] == [{"event": "print", "text": "a\nb"}, {"event": "value", "line": 2, "text": "1.5"}]
    error = done.events[2]
    assert (error["event"], error["line"], error["top"], error["kind"]) == ("error", 3, 3, "arithmetic")
    assert error["message"] == "division by zero"
    assert {"role": "needed", "line": 3, "column": 5, "end_line": 3, "end_column": 10}.items() <= error["spans"][0].items()
    assert done.events[3] == {"event": "state", "tensors": {}, "buffers": {}}


def test_syntax_errors_run_nothing(start: Callable) -> None:
    done = start("print(1)\nprint((2)\n")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error[syntax]: ")


@pytest.mark.parametrize(("make", "words"), [
    (lambda path: None, "No such file"),
    (lambda path: path.mkdir(), "directory"),
    (lambda path: path.write_bytes(b"x = 1\n\xff\n"), "line 2 is not UTF-8"),
    (lambda path: (path.write_text("x"), path.chmod(0)), "Permission denied"),
])
def test_unreadable_scripts(gradsh: Callable, tmp_path: Path, make: Callable, words: str) -> None:
    make(tmp_path / "s.grad")
    if words == "Permission denied" and os.geteuid() == 0:
        pytest.skip("root may read everything")
    done = gradsh("s.grad")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error[io]: cannot read s.grad: ")
    assert words in done.err
    assert gradsh("--format", "json", "s.grad").events[0]["kind"] == "io"


def test_several_files_are_told_apart(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("x = 1\nx\nnonsense\n")
    (tmp_path / "b.grad").write_text("print(2)\n")
    done = gradsh("--format", "json", "a.grad", "b.grad")
    assert [(event["event"], event["file"]) for event in done.events] == [
        ("value", "a.grad"), ("error", "a.grad"), ("state", "a.grad"), ("print", "b.grad"), ("state", "b.grad"),
    ]
    text = gradsh("a.grad", "b.grad")
    assert (text.status, text.out) == (1, "1\n2\n")
    assert "--> a.grad:3:1" in text.err
    assert text.err.endswith("failed: a.grad\n2 scripts: 1 done, 1 failed\n")


def test_every_diagnostic_of_a_file_names_its_place(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "a b.grad").write_text("import warnings\nwarnings.warn('careful')\nif True:\n    nonsense\n")
    err = gradsh("a b.grad").err
    assert "warning: careful\n  --> a b.grad:2:1\n" in err
    assert "is not defined\n  --> a b.grad:4:5\n" in err
    assert "-->" not in gradsh("-c", "nonsense\n").err
    linked = gradsh("--color", "always", "a b.grad", env={"FORCE_HYPERLINK": "1"}).err
    assert "\x1b]8;;file://" in linked
    assert f"{str(tmp_path).replace(' ', '%20')}/a%20b.grad\x1b\\a b.grad:4:5\x1b]8;;\x1b\\" in linked


@pytest.mark.parametrize(("arguments", "names", "coloured"), [
    ([], {}, False), (["--color", "always"], {}, True), (["--color=always"], {"NO_COLOR": "1"}, True),
    (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ([], {"FORCE_COLOR": "1"}, True), ([], {"FORCE_COLOR": "0"}, False), ([], {"CLICOLOR_FORCE": "1"}, True),
    ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), (["--plain"], {"FORCE_COLOR": "1"}, False),
])
def test_colour(gradsh: Callable, tmp_path: Path, arguments: list[str], names: dict[str, str], coloured: bool) -> None:
    (tmp_path / "a.grad").write_text("nonsense\n#! error\n")
    for command in part(["run", "test", "check"], 2):
        done = gradsh(command, *arguments, "a.grad", env=names)
        assert ("\x1b[" in done.out + done.err) is coloured, command
    assert gradsh("run", "--color", "sometimes", "a.grad").status == 2


def test_files_share_nothing(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("shared = 1\n")
    (tmp_path / "b.grad").write_text("shared\n")
    assert gradsh("a.grad", "b.grad").status == 1


@pytest.mark.parametrize("args", [["--nonsense"], ["--format", "xml", "x"], ["run", "--seed", "x", "f"], ["-c"]])
def test_wrong_usage(gradsh: Callable, args: list[str]) -> None:
    done = gradsh(*args)
    assert (done.status, done.out) == (2, "")
    assert "Traceback" not in done.err


def test_script_called_test_or_run(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "test").write_text("print('a script')\n")
    assert gradsh("./test").out == "a script\n"
    assert gradsh("run", "test").out == "a script\n"


def test_version_and_help(gradsh: Callable) -> None:
    assert gradsh("--version").out.startswith("gradsh 0.")
    done = gradsh("--help", env={"GITHUB_ACTIONS": "1", "FORCE_COLOR": "1"})
    assert done.status == 0
    assert "test" in done.out
    assert "..." not in done.out.partition("Commands:")[2]
    assert "\x1b" not in done.out
    assert "─" not in done.out


def test_shebang(gradsh: Callable, tmp_path: Path) -> None:
    (tmp_path / "s.grad").write_text("#!/usr/bin/env gradsh\nprint(1)\n")
    assert gradsh("s.grad").out == "1\n"


def test_broken_pipe_is_quiet(tmp_path: Path) -> None:
    code = "for i in range(1000000):\n    print(i)\n"
    script = tmp_path / "s.grad"
    script.write_text(code)
    run = f"{sys.executable} -m gradsh {script} | head -2"
    done = subprocess.run(["sh", "-c", run], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert (done.stdout, done.stderr) == ("0\n1\n", "")


@pytest.mark.parametrize("what", ["run s.grad t.grad -j 2", "test s.grad t.grad -j 2 --tap"])
def test_broken_pipe_of_several_processes_is_quiet(tmp_path: Path, what: str) -> None:
    for name in ("s", "t"):
        (tmp_path / f"{name}.grad").write_text("for i in range(20000):\n    print(i)\n")
    run = f"{sys.executable} -m gradsh {what} | head -1"
    done = subprocess.run(["sh", "-c", run], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def test_broken_pipe_of_a_report_is_quiet(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"t{number}.grad").write_text("for i in range(2000):\n    print(i)\n#>\n")
    run = f"{sys.executable} -m gradsh test . | head -1"
    done = subprocess.run(["sh", "-c", run], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.parametrize("what", ["run", "test"])
def test_interrupt_of_several_processes_leaves_nothing_behind(tmp_path: Path, what: str) -> None:
    for name in ("s.grad", "t.grad"):
        (tmp_path / name).write_text("while True:\n    pass\n")
    with program(["-m", "gradsh", what, "s.grad", "t.grad", "-j", "2"], tmp_path) as running:
        wait_until(lambda: len(left_of(running.pid)) >= 3, "two workers")
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=BOUND)
        wait_until(lambda: not left_of(running.pid), "the end of its processes")
    assert running.returncode == 130
    assert b"Warning" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk_is_told(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "gradsh", "-c", "print(1)"], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False,
                              env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert done.returncode == 1
    assert done.stderr == "gradsh: cannot write the output: No space left on device\n"


@pytest.mark.parametrize("code", ["while True:\n    pass\n", "x = 0\nfor i in range(10**12):\n    x += i\n"])
def test_interrupt(tmp_path: Path, code: str) -> None:
    with program(["-m", "gradsh", "--keep-going", "-c", f"print('on')\n{code}print('never')"], tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND)
    assert process.returncode == 130
    assert out == b""
    assert b"error[interrupt]" in err
    assert b"Traceback" not in err


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("command", ["run", "test"])
def test_an_interrupt_that_a_script_raises_is_its_failure(gradsh: Callable, tmp_path: Path, command: str, jobs: str) -> None:
    hook = "def f(g): raise KeyboardInterrupt\nx = ones(2, requires_grad=True)\nx.register_hook(f)\nx.sum().backward()\n"
    (tmp_path / "a.grad").write_text("raise KeyboardInterrupt('mine')\n")
    (tmp_path / "b.grad").write_text(hook)
    (tmp_path / "c.grad").write_text("try:\n    raise KeyboardInterrupt\nexcept KeyboardInterrupt: print('caught')\n#> caught\n")
    done = gradsh(command, "-j", jobs, "a.grad", "b.grad", "c.grad")
    assert done.status == 1
    told = done.out + done.err
    assert told.count("error[other]: KeyboardInterrupt") == 2
    assert ("1 passed, 2 failed" if command == "test" else "3 scripts: 1 done, 2 failed") in told
    assert "Traceback" not in told


def test_timeout(gradsh: Callable) -> None:
    done = gradsh("run", "--timeout", "0.3", "-c", "while True:\n    pass\n")
    assert done.status == 1
    assert "error[limit]" in done.err
    assert "--timeout" in done.err


def test_output_bound(gradsh: Callable) -> None:
    done = gradsh("run", "--max-output", "1K", "-c", "while True:\n    print('x' * 100)\n")
    assert done.status == 1
    assert len(done.out) < 2000
    assert "--max-output" in done.err
    assert "the output is larger than --max-output allows (10 bytes)" in gradsh("run", "--max-output", "10", "-c", "print('x' * 99)").err


def test_windows_line_ends_and_bom(gradsh: Callable) -> None:
    assert gradsh(text=b"\xef\xbb\xbfx = 1\r\nif x:\r\n    print(x)\r\n") == (0, "1\n", "")


def test_latin_locale_shows_every_character(gradsh: Callable) -> None:
    done = gradsh("-c", "print('é→')", env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"})
    assert (done.status, done.out) == (0, "\\xe9\\u2192\n")


def test_code_that_is_not_utf8(gradsh: Callable) -> None:
    done = gradsh("-c", os.fsdecode(b"print('\xff')"))
    assert (done.status, done.out) == (2, "")
    assert "not UTF-8" in done.err


@pytest.mark.parametrize(("closed", "status", "err"), [
    (">&-", 1, "gradsh: cannot write the output: the stream is closed\n"), ("2>&-", 0, ""), ("<&-", 0, ""),
])
def test_closed_streams(tmp_path: Path, closed: str, status: int, err: str) -> None:
    run = f"{sys.executable} -m gradsh -c 'print(1)' {closed}"
    done = subprocess.run(["sh", "-c", run], capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert (done.returncode, done.stderr) == (status, err)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_memory_bound(gradsh: Callable) -> None:
    code = "x = zeros(1000)\ny = zeros(10**8)\nprint('on', (randn(300, 300) @ randn(300, 300)).shape)\n"
    done = gradsh("run", "--keep-going", "--max-memory", "200M", "-c", code)
    assert (done.status, done.out) == (1, "on torch.Size([300, 300])\n")
    assert "error[limit]" in done.err
    assert "y = zeros(10**8)" in done.err


def test_json_tells_a_printed_line_once(start: Callable) -> None:
    code = "for i in range(3):\n    print(i, end=' ')\nprint()\nprint('a', end='')\n1/0\nprint('b\\nc', end='')\n3\nprint('d', end='')"
    events = [(event["event"], event.get("text")) for event in start(code, "--keep-going", "--format", "json").events]
    assert events == [
        ("print", "0 1 2 "), ("error", None), ("print", "ab"), ("print", "c"), ("value", "3"), ("print", "d"), ("state", None),
    ]
