"""`--report`: the file that is written, whatever the script holds; what happens where it cannot be written."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.report.page import ReportFile, embedded, page
from gradsh.version import PYTORCH_VERSION, __version__
from tests.batch.conftest import Run, gradsh  # noqa: F401
from tests.report.read import data_of
from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]
FAILING = "x = ones(2, requires_grad=True)\nz = (x * x).sum()\nbackward z\nbackward z\n"
Gradsh = Callable[..., Run]


def test_a_page_and_its_data_are_the_same(gradsh: Gradsh, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "a.grad").write_text(FAILING)
    plain = gradsh("run", "a.grad")
    page_run = gradsh("run", "--report", "a.html", "a.grad")
    json_run = gradsh("run", "--report=a.json", "a.grad")
    assert plain == page_run == json_run
    assert plain.status == 1
    assert data_of(tmp_path / "a.html") == data_of(tmp_path / "a.json")
    data = data_of(tmp_path / "a.json")
    assert (data["version"], data["gradsh"], data["pytorch"]) == (1, __version__, PYTORCH_VERSION)
    assert [run["name"] for run in data["runs"]] == ["a.grad"]


def test_the_policy_allows_this_script_and_style_alone() -> None:
    text = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (held,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(held.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'")
    assert "unsafe" not in policy[1]
    assert len(text) < 1_000_000
    assert not re.search(r"\beval\(|new Function\(", text)
    for source in (ROOT / "page/src").glob("*.js"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.html\(", source.read_text(encoding="utf-8"))


def test_nothing_of_a_script_ends_the_data() -> None:
    for text in ("</script><script>alert(1)</script>", "<!--", "]]>", "\u2028\u202e\U0001f600", "&lt;"):
        told = embedded(json.dumps(text))
        inner = told.removeprefix('<script type="application/json" id="report">').removesuffix("</script>")
        assert not set(inner) & set("<>&")
        assert inner.isascii()
        assert json.loads(inner) == text


def test_hostile_names_and_large_tensors(gradsh: Gradsh, tmp_path: Path) -> None:  # noqa: F811
    text = (
        "d = {'</script><b>': ones(2, requires_grad=True), '\u202eevil': ones(1), 'n' * 10000: ones(3)}\n"
        "big = zeros(1000, 1000, requires_grad=True)\nprint('<script>', 'x' * 100000)\ny = (big * big).sum()\ny.backward()\n"
    )
    (tmp_path / "a.grad").write_text(text)
    done = gradsh("run", "--report", "a.html", "a.grad")
    assert done.status == 0
    run = data_of(tmp_path / "a.html")["runs"][0]
    assert "d['</script><b>']" in run["variables"]
    assert (tmp_path / "a.html").stat().st_size < 500_000


@pytest.mark.parametrize("target", ["missing/a.html", ".", "a.txt", "a"])
def test_what_cannot_be_written_is_told_before_anything_runs(gradsh: Gradsh, target: str) -> None:  # noqa: F811
    done = gradsh("run", "--report", target, "-c", "print(1)")
    assert done.status == 2
    assert done.out == ""
    assert "report" in done.err
    assert "Traceback" not in done.err


def test_a_full_disk_costs_the_report_and_not_the_session(gradsh: Gradsh, tmp_path: Path) -> None:  # noqa: F811
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    (tmp_path / "a.json").symlink_to("/dev/full")
    done = gradsh("run", "--report", "a.json", "-c", "print(1)")
    assert (done.status, done.out) == (1, "1\n")
    assert done.err == "gradsh: cannot write the report a.json: No space left on device\n"


def test_a_longer_report_of_before_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("x" * 100_000)
    report = ReportFile(str(target))
    report.add("a", {})
    assert report.write() == 0
    assert json.loads(target.read_text())["runs"] == [{"name": "a"}]


@pytest.mark.parametrize("more", [(), ("-j", "2")])
def test_several_scripts_are_in_one_report(gradsh: Gradsh, tmp_path: Path, more: tuple[str, ...]) -> None:  # noqa: F811
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.grad").write_text(f"{name} = ones(2, requires_grad=True)\nbackward {name}.sum()\n")
    done = gradsh("run", "--report", "all.html", *more, "a.grad", "b.grad", "c.grad")
    assert done.status == 0
    assert "3 done" in done.err
    runs = data_of(tmp_path / "all.html")["runs"]
    assert [run["name"] for run in runs] == ["a.grad", "b.grad", "c.grad"]
    assert [list(run["variables"]) for run in runs] == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("mode", ["auto", "off"])
def test_the_sandbox_does_not_stand_in_the_way(gradsh: Gradsh, tmp_path: Path, mode: str) -> None:  # noqa: F811
    done = gradsh("run", "--sandbox", mode, "--timeout", "30", "--report", "a.html", "-", text=FAILING)
    assert done.status == 1
    assert data_of(tmp_path / "a.html")["runs"][0]["failures"][0]["kind"] == "freed"


def test_a_report_of_golden_tests_has_those_that_fail(gradsh: Gradsh, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "good.grad").write_text("print(1)\n#> 1\n")
    (tmp_path / "bad.grad").write_text(f"print(1)\n#> 2\n{FAILING}")
    (tmp_path / "broken.grad").write_text("x = (\n")
    assert gradsh("test", "--report", "missing/a.html", ".").status == 2
    done = gradsh("test", "--report", "a.html", ".")
    assert done.status == 1
    assert "1 passed, 2 failed" in done.out
    (run,) = data_of(tmp_path / "a.html")["runs"]
    assert run["name"].endswith("bad.grad")
    assert [one["kind"] for one in run["failures"]] == ["freed"]
    assert {"-#> 2", "+#> 1"} <= set(run["differences"])
    assert gradsh("test", "--report", "b.json", "good.grad").status == 0
    assert data_of(tmp_path / "b.json")["runs"] == []


def test_save_writes_a_report_of_a_session(tmp_path: Path) -> None:
    with Terminal(TERM="dumb", columns=200) as shell:
        shell.see("grad>")
        for line in FAILING.splitlines():
            shell.run(line)
        assert "wrote a report of 4 statements to" in shell.run(f"save {tmp_path}/a.html")
        assert "cannot write" in shell.run(f"save {tmp_path}/missing/a.html")
        assert "8" in shell.run("2 ** 3")
    (run,) = data_of(tmp_path / "a.html")["runs"]
    assert [step["line"] for step in run["steps"] if step["kind"] == "statement"] == [2, 3, 4, 5]
    assert [one["kind"] for one in run["failures"]] == ["freed"]
    assert run["failures"][0]["fixes"][0]["tried"]


def test_the_page_is_what_its_sources_make(tmp_path: Path) -> None:
    """CI rebuilds it after `npm ci`; here it is rebuilt where the packages are installed."""
    if shutil.which("node") is None or not (ROOT / "page/node_modules/esbuild").exists():
        pytest.skip("the packages of the page are not installed: `make page`")
    shutil.copytree(ROOT / "page", tmp_path / "page", symlinks=True)
    (tmp_path / "gradsh/report").mkdir(parents=True)
    subprocess.run(["node", "build.mjs"], cwd=tmp_path / "page", check=True, capture_output=True, timeout=120)
    for name in ("page.html", "page.LICENSES.txt"):
        assert (tmp_path / "gradsh/report" / name).read_bytes() == (ROOT / "gradsh/report" / name).read_bytes(), "run `make page`"
