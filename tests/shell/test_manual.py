"""Completion of the command line for three shells, and the man page."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gradsh.cli.app import described
from gradsh.cli.manual import SHELLS, man
from gradsh.commands import USAGE
from gradsh.text.kinds import KINDS
from gradsh.version import __version__

PAGE = Path(__file__).parents[2] / "docs" / "gradsh.1"


def test_every_subcommand_and_option_is_described() -> None:
    subs = described()
    assert {sub.name for sub in subs} >= {"", "run", "test", "explain"}
    assert all(flag.help for sub in subs for flag in sub.flags)


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_completion_names_everything(shell: str) -> None:
    text = SHELLS[shell](described())
    for sub in described():
        assert sub.name in text
        for flag in sub.flags:
            assert all(name.lstrip("-") in text for name in flag.names)


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_the_shell_itself_reads_it(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "completion"
    file.write_text(SHELLS[shell](described()))
    subprocess.run([shell, "-n", str(file)], check=True)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("te", "test"), ("run --format j", "json"), ("explain fre", "freed"), ("test --upd", "--update")],
)
def test_bash_completes(words: str, wanted: str, tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    line = words.split()
    script = f"{SHELLS['bash'](described())}\nCOMP_WORDS=(gradsh {words}); COMP_CWORD={len(line)}; _gradsh; echo \"${{COMPREPLY[@]}}\""
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert wanted in found.stdout.split()


def test_the_program_prints_them() -> None:
    found = subprocess.run([sys.executable, "-m", "gradsh", "--show-completion", "zsh"], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("#compdef gradsh")
    found = subprocess.run([sys.executable, "-m", "gradsh", "--show-completion", "tcsh"], capture_output=True, text=True, check=False)
    assert found.returncode == 2


def test_the_man_page_is_up_to_date_and_tells_all() -> None:
    text = man(described(), __version__)
    assert PAGE.read_text(encoding="utf-8") == text, "run `make docs`"
    assert all(f".B {name}" in text for name in USAGE)
    assert all(kind.name in text for kind in KINDS.values())
