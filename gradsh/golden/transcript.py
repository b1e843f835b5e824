"""Writes expectations into a script that has none: it is run anew, and what it shows is put below its statements."""

from gradsh.golden.check import Ran, Recorder, as_comment
from gradsh.text.expectations import options_of
from gradsh.text.span import Source


def with_expectations(text: str, seed: int = 0) -> str:
    """Return a script with its outputs as comments below its statements, so that it passes as a golden test.

    A failure is written as announced. A seed other than 0 is written into the script.
    """
    from gradsh.session import Session

    if seed and "seed" not in options_of(Source("", text), strict=False):
        first, _, rest = text.partition("\n")
        text = f"{first}\n#@ seed={seed}\n{rest}" if first.startswith("#!") else f"#@ seed={seed}\n{text}"
    recorder = Recorder()
    Session(seed).run(text, recorder, name="<session>", keep_going=True)
    lines = text.split("\n")
    for ran in sorted(recorder.ran, key=lambda one: -one.end_line):
        lines[ran.end_line : ran.end_line] = _comments(ran)
    return "\n".join(lines)


def _comments(ran: Ran) -> list[str]:
    return [*(as_comment("#>", line) for line in ran.output), *(as_comment("#!", line) for line in ran.failure)]
