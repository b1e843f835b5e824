"""Rewrites the expectations that no longer hold, and nothing else.

A line that matches stays as it is written, also where it only matches within the tolerance. A line with a wildcard is
never rewritten: the stretch it stands in is left, and reported. An unannounced failure is never recorded either: only
where a `#!` stands below a statement is its failure's text filled in.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from gradsh.golden.check import Checked, CheckedRun, Mismatch, as_comment, sibling_lines, sibling_path
from gradsh.golden.compare import Tolerance, align, as_written, has_wildcard, ordered
from gradsh.golden.unordered import UNORDERED
from gradsh.process.files import write_whole
from gradsh.text.expectations import Block, Expected

ROUNDS = 4
BOM = b"\xef\xbb\xbf"


class LineEdit(NamedTuple):
    """Lines to drop, and lines to put after a line (0: at the top)."""

    drop: frozenset[int]
    after: int
    lines: tuple[str, ...]


class Update(NamedTuple):
    """The text with its expectations brought up to date, files beside it, and what had to be left."""

    text: str
    siblings: dict[Path, str]
    left: tuple[int, ...]


def proposed(tested: Checked, *, force: bool = False) -> Update:
    """Return what an update would write. With `force` wildcards are rewritten too: that text serves for diffs."""
    edits: list[LineEdit] = []
    left: list[int] = []
    siblings: dict[Path, str] = {}
    ran = {one.line: one for one in tested.ran}
    for mismatch in tested.mismatches:
        if mismatch.line not in ran:
            continue
        one = ran[mismatch.line]
        block = tested.blocks.get(one.end_line, Block(one.end_line, ()))
        if mismatch.fault == "sibling":
            _sibling(tested, block, one, force, siblings, left)
        elif mismatch.fault in {"output", "shown", "failure", "passed"}:
            found, kept = _edits(mismatch, block, tested.tolerance, force)
            edits += found
            left += kept
    return Update(_applied(tested.text, edits), siblings, tuple(left))


def _sibling(tested: Checked, block: Block, ran: CheckedRun, force: bool, out: dict[Path, str], left: list[int]) -> None:
    script = Path(tested.path)
    if block.sibling is None:
        return
    try:
        path = sibling_path(script, block.sibling)
    except (OSError, ValueError):
        left.append(block.sibling.line)
        return
    try:
        old = sibling_lines(script, block.sibling)
    except (OSError, UnicodeDecodeError):
        old = ()
    edits, kept = _stretch_edits(old, ran.output, 0, tested.tolerance, force, lambda _, text: text.rstrip())
    left += [block.sibling.line] * bool(kept)
    text = "".join(expected.text + "\n" for expected in old)
    out[path] = _applied(text, edits) if text else "".join(as_written(line.rstrip(), tested.tolerance) + "\n" for line in ran.output)


def _edits(mismatch: Mismatch, block: Block, tolerance: Tolerance, force: bool) -> tuple[list[LineEdit], list[int]]:
    """The edits for one mismatch, and the lines that had to be left."""
    failing = mismatch.fault in {"failure", "passed"}
    usual = "#!" if failing else "" if mismatch.fault == "shown" else "#>"
    anchor = block.output[-1].line if failing and block.output else block.end_line
    return _stretch_edits(
        mismatch.expected, mismatch.actual, anchor, tolerance, force, lambda sign, text: as_comment(sign or usual, text)
    )


def _stretch_edits(
    expected: Sequence[Expected], actual: Sequence[str], anchor: int, tolerance: Tolerance, force: bool,
    written: Callable[[str, str], str],
) -> tuple[list[LineEdit], list[int]]:
    """The edits of a stretch of lines; `written` makes a line of the sign of the one that it replaces, and its text."""
    expected = ordered(expected, actual, tolerance)
    edits: list[LineEdit] = []
    left: list[int] = []
    drop: list[Expected] = []
    add: list[str] = []

    def close() -> None:
        fixed = [one.line for one in drop if has_wildcard(one, tolerance)]
        if fixed and not force:
            left.extend(fixed)
        elif drop or add:
            after = min((one.line for one in drop), default=anchor)
            lines = tuple(written(sign, as_written(text, tolerance)) for sign, text in zip(_signs(drop, len(add)), add, strict=True))
            edits.append(LineEdit(frozenset(one.line for one in drop), after, lines))
        drop.clear()
        add.clear()

    for i, j in align(expected, actual, tolerance):
        if i is not None and j is not None:
            close()
            anchor = expected[i].line
            if _only_padded(expected[i], actual[j], tolerance):
                edits.append(LineEdit(frozenset((anchor,)), anchor, (written(expected[i].sign, actual[j]),)))
        elif i is not None:
            drop.append(expected[i])
        elif j is not None:
            add.append(actual[j])
    close()
    return edits, left


def _signs(dropped: Sequence[Expected], count: int) -> list[str]:
    """The signs of lines that take the places of dropped ones; empty: the usual one."""
    signs = [one.sign if one.sign.endswith(">") else "" for one in dropped[:count]]
    more = UNORDERED if dropped and dropped[-1].sign == UNORDERED else ""
    return signs + [more] * (count - len(signs))


def _only_padded(expected: Expected, actual: str, tolerance: Tolerance) -> bool:
    """Whether a line that holds is padded for neighbours of other widths: a table is rewritten aligned, or not at all."""
    return not has_wildcard(expected, tolerance) and expected.text != actual.rstrip() and expected.text.split() == actual.split()


def _applied(text: str, edits: Sequence[LineEdit]) -> str:
    """The text with the edits made; line ends stay the text's own."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.split("\n")
    drop = {number for edit in edits for number in edit.drop}
    after: dict[int, list[str]] = {}
    for edit in edits:
        after.setdefault(edit.after, []).extend(edit.lines)
    out: list[str] = []
    carry = end.removesuffix("\n")
    for number in range(len(lines) + 1):
        if number and number not in drop:
            out.append(lines[number - 1])
        if number in after:
            if number == len(lines) and out and out[-1] and carry and not out[-1].endswith(carry):
                out[-1] += carry
            out += [line + carry for line in after[number]]
    if after.get(len(lines)):
        out.append("")
    return "\n".join(out)


def settle(
    tested: Checked, again: Callable[[str], Checked], tell: Callable[[str], object] = lambda _: None
) -> Checked:
    """Rewrite what no longer holds until it holds; `again` runs the script anew. Raises OSError.

    `tell` is told of each file when it is first written.

    New lines move the statements below, and outputs name lines, so one round is not always enough.
    """
    now = tested
    told: set[str] = set()

    def once(path: str) -> None:
        if path not in told:
            told.add(path)
            tell(path)

    for _ in range(ROUNDS):
        if not write(now, proposed(now), once):
            break
        now = again(now.path)
        if now.passed:
            break
    return now


def write(tested: Checked, update: Update, tell: Callable[[str], object] = lambda _: None) -> bool:
    """Write what an update changes, whole files or nothing; return whether anything changed. Raises OSError."""
    changed = False
    script = Path(tested.path)
    if update.text != tested.text:
        mark = BOM if script.read_bytes().startswith(BOM) else b""
        write_whole(script, mark + update.text.encode())
        tell(tested.path)
        changed = True
    for path, text in update.siblings.items():
        if not path.exists() or path.read_bytes() != text.encode():
            write_whole(path, text.encode())
            tell(str(path))
            changed = True
    return changed
