"""What `--update` rewrites, and what it leaves."""

from pathlib import Path

from gradsh.golden.check import Checked, CheckedRun, Mismatch
from gradsh.golden.compare import Tolerance, text_matches
from gradsh.golden.update import proposed, write
from gradsh.text.expectations import scan
from gradsh.text.span import Source


def outcome(text: str, *ran: CheckedRun, path: str = "s.grad", fault: str = "output") -> Checked:
    blocks = scan(Source(path, text), [(one.line, one.end_line) for one in ran])
    mismatches = []
    for one in ran:
        block = blocks.get(one.end_line)
        expected = () if block is None else block.failure if fault != "output" else block.output
        actual = one.output if fault == "output" else one.failure
        mismatches.append(Mismatch(one.line, fault, "", expected, actual))  # type: ignore[arg-type]
    return Checked(path, text, ran, blocks, tuple(mismatches), Tolerance(), 0.0)


def test_inserts_below_the_statement() -> None:
    assert proposed(outcome("x\ny\n", CheckedRun(1, 1, ("1", "", "2")))).text == "x\n#> 1\n#>\n#> 2\ny\n"


def test_last_line_without_an_end() -> None:
    assert proposed(outcome("x", CheckedRun(1, 1, ("1",)))).text == "x\n#> 1\n"


def test_addresses_of_objects_are_written_as_a_pattern_that_matches_again() -> None:
    shown = ("<F object at 0x7fb3e8b480c0>", "0xff at 0x12")
    found = proposed(outcome("x\n", CheckedRun(1, 1, shown)))
    assert found.text == "x\n#> <F object at [ADDRESS]>\n#> 0xff at 0x12\n"
    assert text_matches("<F object at [ADDRESS]>", "<F object at 0x7f2ba77430c0>", Tolerance())
    assert not text_matches("[ADDRESS]", "0x7f2ba77430c0", Tolerance())


def test_replaces_only_what_differs() -> None:
    text = "x\n#>   1.00000\n#> old\n# remark\n#> same\n"
    ran = CheckedRun(1, 1, ("1.0", "new", "same"))
    assert proposed(outcome(text, ran)).text == "x\n#>   1.00000\n#> new\n# remark\n#> same\n"


def test_removes_what_no_longer_comes() -> None:
    assert proposed(outcome("x\n#> a\n#> b\n", CheckedRun(1, 1, ("b",)))).text == "x\n#> b\n"


def test_wildcards_are_left_and_reported() -> None:
    text = "x\n#> a [..]\n#> b\n"
    update = proposed(outcome(text, CheckedRun(1, 1, ("c", "b"))))
    assert update.text == text
    assert update.left == (2,)
    assert proposed(outcome(text, CheckedRun(1, 1, ("c", "b"))), force=True).text == "x\n#> c\n#> b\n"


def test_matching_wildcards_stay_beside_a_change() -> None:
    text = "x\n#> a [..]\n#> b\n"
    assert proposed(outcome(text, CheckedRun(1, 1, ("a 1", "c")))).text == "x\n#> a [..]\n#> c\n"


def test_failures_are_filled_in() -> None:
    text = "x\n#> out\n#!\ny\n"
    ran = CheckedRun(1, 1, ("out",), ("error[name]: no x", "  help: y"), ok=False)
    assert proposed(outcome(text, ran, fault="failure")).text == "x\n#> out\n#! error[name]: no x\n#!   help: y\ny\n"


def test_unannounced_failures_are_not_recorded() -> None:
    ran = CheckedRun(1, 1, (), ("error[name]: no x",), ok=False)
    assert proposed(outcome("x\n", ran, fault="failed")).text == "x\n"


def test_line_ends_stay() -> None:
    assert proposed(outcome("x\r\ny\r\n", CheckedRun(1, 1, ("1",)))).text == "x\r\n#> 1\r\ny\r\n"


def test_writes_whole_files_and_keeps_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "s.grad"
    path.write_bytes(b"\xef\xbb\xbfx\n")
    path.chmod(0o640)
    found = outcome("x\n", CheckedRun(1, 1, ("1",)), path=str(path))
    assert write(found, proposed(found))
    assert path.read_bytes() == b"\xef\xbb\xbfx\n#> 1\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["s.grad"]


def test_sibling_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "s.grad"
    (tmp_path / "s.graph.out").write_text("a\n1.0\nold\n")
    text = "x\n#>> s.graph.out\n"
    ran = CheckedRun(1, 1, ("a", "1.00001", "new"))
    blocks = scan(Source(str(path), text), [(1, 1)])
    found = Checked(str(path), text, (ran,), blocks, (Mismatch(1, "sibling", ""),), Tolerance(), 0.0)
    update = proposed(found)
    assert update.text == text
    assert update.siblings == {tmp_path / "s.graph.out": "a\n1.0\nnew\n"}
