"""Words that several commands share: counts with their nouns, accounts of passes. Text here is part of views only."""

from collections.abc import Sequence

from gradsh.probe.passes import Buffer, PassReport, Written

MOST = 4


def count(number: int, noun: str, several: str = "") -> str:
    """Return `1 node`, `2 nodes`; `several` is a plural that is no noun with an s."""
    return f"1 {noun}" if number == 1 else f"{number:,} {several or noun + 's'}"


def freed_words(report: PassReport, verb: str = "freed") -> str:
    """Say what a pass freed; empty buffers are told as such, since it surprises that nothing was saved."""
    if not report.freed:
        if report.kept or report.saving_nodes:
            return f"{verb} nothing"
        return f"{verb} nothing (they save nothing)"
    shown = ", ".join(buffer_words(one) for one in report.freed[:MOST])
    rest = len(report.freed) - MOST
    more = f" and {rest:,} more" if rest > 0 else ""
    packed = sum(one.packed for one in report.freed)
    least = "at least " if packed else ""
    back = f", releasing {least}{report.gave_back:,} B" if len(report.freed) > 1 and packed < len(report.freed) else ""
    return f"{verb} {count(len(report.freed), 'buffer')}: {shown}{more}{back}"


def buffer_words(one: Buffer) -> str:
    """Say node, name, bytes of a buffer, and who still holds its memory."""
    held = f", memory still held by {' and '.join(one.held_by[:2])}" if one.held_by else ", packed" if one.packed else ""
    return f"{one.node}.{one.name} ({one.nbytes:,} B{held})"


def kept_words(report: PassReport, verb: str = "kept") -> str:
    """Say what a pass kept, and why; empty where it kept nothing."""
    if not report.kept:
        return ""
    total = sum(one.nbytes for one in report.kept)
    memories = f" in {report.kept_in:,} B of storage" if report.kept_in not in (0, total) else ""
    return f"{verb} {count(len(report.kept), 'buffer')} ({total:,} B{memories}, {report.kept_because})"


def written_words(wrote: Sequence[Written], first: str = "wrote", again: str = "added to", none: str = "wrote no gradient") -> str:
    """Say which gradients were set and which were added to."""
    parts = []
    for words, names in (
        (first, [one.name for one in wrote if one.first]),
        (again, [one.name for one in wrote if not one.first]),
    ):
        if names:
            rest = len(names) - MOST
            listed = ", ".join(f"{name}.grad" for name in names[:MOST])
            parts.append(f"{words} {listed}" + (f" and {rest} more" if rest > 0 else ""))
    return ", ".join(parts) or none


def account(report: PassReport) -> str:
    """Return the one line that tells a pass."""
    parts = [f"ran {count(report.ran, 'node')}", freed_words(report), kept_words(report)]
    return f"{', '.join(part for part in parts if part)}; {written_words(report.wrote)}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return `a, b and 3 more`."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")
