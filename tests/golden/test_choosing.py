"""Which scripts are tested: by words and tags, by how they went last time, in shards; what is skipped, what may fail; watching."""

import itertools
import json
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gradsh.golden.cache import LastRun
from gradsh.golden.choose import in_shard, shard_of
from gradsh.golden.condition import holds
from tests.golden.conftest import Golden, script
from tests.processes import BOUND, program, wait_until

CACHE = Path(".gradsh_cache/tests.json")


@pytest.mark.parametrize("text", [
    "a", "not a", "a and b", "a or b", "not a and b", "not (a and b)", "a or b and not a", "(a or b) and not a", "not not a", "((a))or(b)",
    "a and not b or b and not a", "not a or not b",
])
def test_expressions_mean_what_they_mean_in_python(text: str) -> None:
    for a, b in ((False, False), (False, True), (True, False), (True, True)):
        assert holds(text, {"a": a, "b": b}.__getitem__) == eval(text, {}, {"a": a, "b": b})


@pytest.mark.parametrize("text", ["", "a b", "and", "a or", "not", "(a", "a)", "< 2", "a <> b"])
def test_what_is_no_expression_is_told(golden: Golden, text: str) -> None:
    script("a.grad", "1\n")
    status, out, err = golden(words=(text,))
    assert (status, out) == (2, "")
    assert err.startswith("gradsh test: -k: ")


def test_words_are_looked_for_in_paths_and_tags(golden: Golden) -> None:
    script("slow_one.grad", "nonsense\n")
    script("b.grad", "#@ tags=gpu,slow\nnonsense\n")
    script("c.grad", "print(1)\n")
    assert golden(words=("not slow",)) == (0, "1 passed, 0 failed\n", "")
    assert golden(words=("slow and not gpu or c.grad",))[1].endswith("1 passed, 1 failed\n")
    assert golden(words=("slo and gpu", "c"))[1].endswith("1 passed, 0 failed\n"), "a tag is a whole word, a path is not"


@pytest.mark.parametrize("count", range(1, 8))
def test_shards_have_each_script_once(count: int) -> None:
    drawn = random.Random(count)
    for size in range(12):
        names = [f"{drawn.randrange(99)}/{place}" for place in range(size)]
        runs = {name: LastRun(drawn.choice((0.0, 1.0, drawn.random())), failed=False) for name in names[::2]}
        parts = [in_shard(names, (number, count), runs) for number in range(1, count + 1)]
        assert sorted(itertools.chain(*parts)) == sorted(names)
        assert all(part == [name for name in names if name in part] for part in parts)


def test_shards_take_as_long_as_each_other() -> None:
    runs = {"a": LastRun(9.0, failed=False), **{name: LastRun(3.0, failed=False) for name in "bcd"}}
    assert [in_shard("abcd", (number, 2), runs) for number in (1, 2)] == [["a"], ["b", "c", "d"]]


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", ""])
def test_what_is_no_shard_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="N/OF"):
        shard_of(text)


def test_last_failed_and_failed_first(golden: Golden) -> None:
    for name in "abc":
        script(f"{name}.grad", f"print(1)\n#> {'2' if name == 'b' else '1'}\n")
    assert golden()[0] == 1
    assert golden(last_failed=True)[1].endswith("0 passed, 1 failed\n")
    assert golden("a.grad", "b.grad", failed_first=True, fail_fast=True)[1].endswith("0 passed, 1 failed, 1 not run\n")
    script("b.grad", "print(1)\n#> 1\n")
    assert golden(last_failed=True)[1] == "1 passed, 0 failed\n"
    status, out, err = golden(last_failed=True)
    assert (status, out) == (0, "3 passed, 0 failed\n")
    assert "all are run" in err


@pytest.mark.parametrize("text", [
    "", "{", "[]", '{"version": 2}', '{"version": 1, "scripts": 3}', '{"version": 1, "scripts": {"a.grad": [1]}}',
    '{"version": 1, "scripts": {"a.grad": [NaN, true]}}', "[" * 100_000, "\ud800",
])
def test_a_broken_cache_does_no_harm(golden: Golden, text: str) -> None:
    script("a.grad", "print(1)\n#> 1\n")
    CACHE.parent.mkdir()
    CACHE.write_bytes(text.encode(errors="surrogatepass"))
    assert golden(last_failed=True)[:2] == (0, "1 passed, 0 failed\n")
    assert json.loads(CACHE.read_text())["scripts"].keys() == {"a.grad"}


def test_the_cache_stays_in_its_folder(golden: Golden, tmp_path: Path) -> None:
    script("a.grad", "print(1)\n#> 1\n")
    script("gone.grad", "")
    assert golden()[0] == 0
    Path("gone.grad").unlink()
    assert golden(str(tmp_path / "a.grad"))[0] == 0
    assert json.loads(CACHE.read_text())["scripts"].keys() == {"a.grad"}
    assert CACHE.with_name(".gitignore").read_text() == "*\n"
    before = CACHE.read_bytes()
    assert golden(shard=(1, 2))[0] == 0
    assert CACHE.read_bytes() == before, "the shards of one run agree on the times"
    CACHE.unlink()
    CACHE.symlink_to(tmp_path / "elsewhere")
    assert golden()[0] == 0
    assert not Path("elsewhere").exists()
    CACHE.unlink()
    CACHE.parent.chmod(0o500)
    assert golden()[0] == 0
    CACHE.parent.chmod(0o700)


def test_skipped_and_expected_to_fail(golden: Golden) -> None:
    script("a.grad", '#@ skip="too slow" if="platform == vax or python>=3"\nnonsense\n#>> a.x.out\n')
    script("a.x.out", "kept\n")
    script("b.grad", '#@ xfail="a known fault"\nprint(1)\n#> 2\n')
    script("c.grad", '#@ skip=never if="numpy<1" seed=3\nprint(1)\n#> 1\n')
    script("d.grad", "#@ xfail=soon\nprint(1)\n#> 1\n")
    status, out, _ = golden(junit="out.xml", update=True)
    assert status == 1
    assert out == (
        "./d.grad:1: passed, though it is expected to fail: soon\n./a.grad: skipped: too slow\n"
        "./b.grad: failed as expected: a known fault\n1 passed, 1 failed, 1 skipped, 1 failed as expected\n"
    )
    assert 'skipped="2"' in Path("out.xml").read_text()
    assert '<skipped message="failed as expected: a known fault"/>' in Path("out.xml").read_text()
    out = golden(tap=True)[1]
    assert "ok 1 - ./a.grad # SKIP too slow\nnot ok 2 - ./b.grad # TODO a known fault\nok 3" in out


@pytest.mark.parametrize(("line", "words"), [
    ('#@ skip="x" if="numpi<2"', "'numpi<2' is no comparison of numpy"), ('#@ skip="x" if="platform<2"', "compared by == or !="),
    ('#@ xfail="x" if="(python>3"', "a bracket is not closed"), ('#@ if="python>3"', "unknown option"), ("#@ [id] /x/", "names no pattern"),
    ("#@ [ID] /(/", "the pattern is none"), ("#@ [ID", "names no pattern"),
])
def test_a_condition_that_is_none_is_told(golden: Golden, line: str, words: str) -> None:
    script("a.grad", f"{line}\nprint(1)\n")
    status, out, _ = golden()
    assert status == 1
    assert words in out


def test_one_case_a_statement(golden: Golden) -> None:
    script("a.grad", "x = 1\nprint(x)\n#> 1\nprint(x + 1)\n#> 3\nnonsense\n")
    out = golden(tap=True, cases="statement")[1]
    assert [line for line in out.splitlines() if "ok " in line[:7]] == [
        "ok 1 - ./a.grad:2: print(x)", "not ok 2 - ./a.grad:4: print(x + 1)", "not ok 3 - ./a.grad"]
    golden(junit="out.xml", cases="statement")
    assert Path("out.xml").read_text().count("<testcase ") == 3


def test_watching(tmp_path: Path) -> None:
    (tmp_path / "a.grad").write_text("from part import one\nprint(one)\n#> 1\n")
    (tmp_path / "b.grad").write_text("print(1)\n#> 2\n")
    (tmp_path / "part.py").write_text("one = 1\n")
    told = tmp_path / "told"

    def saw(text: str) -> Callable[[], bool]:
        return lambda: text in told.read_text()

    with told.open("w") as out, program(["-m", "gradsh", "test", "--watch", "."], tmp_path, stdout=out, stderr=out) as process:
        wait_until(saw("1 passed, 1 failed\n-- failing: ./b.grad; waiting"), "the first round")
        (tmp_path / "b.grad").write_text("print(1)\n#> 1\n\n")
        wait_until(saw("1 passed, 0 failed\n-- nothing fails; waiting"), "the round of the mended script")
        (tmp_path / "part.py").write_text("one = 11\n")
        wait_until(saw("-#> 1\n+#> 11\n1 passed, 1 failed\n-- failing: ./a.grad"), "the round of the changed module")
        (tmp_path / "a.grad").unlink()
        (tmp_path / "c.grad").write_text("print(3)\n#> 3\n")
        wait_until(lambda: told.read_text().count("nothing fails") == 2, "the round of the new script")
        process.send_signal(signal.SIGINT)
        assert process.wait(BOUND) == 130
