"""Writes expectations into a script that has none: it is run anew, and what it shows is put below its statements."""

from gradsh.golden.check import CheckedRun, ScriptRecorder, as_comment
from gradsh.session.session import Session
from gradsh.text.script_options import options_of
from gradsh.text.span import Source

ROUNDS = 4
"""How often it is run at most: a failure quotes lines, and these move with the comments written above them."""


def with_expectations(text: str, seed: int = 0) -> str:
    """Return a script with its outputs as comments below its statements, so that it passes as a golden test.

    A failure is written as announced. A seed other than 0 is written into the script.
    """
    if seed and options_of(Source("", text), strict=False).seed is None:
        first, _, rest = text.partition("\n")
        text = f"{first}\n#@ seed={seed}\n{rest}" if first.startswith("#!") else f"#@ seed={seed}\n{text}"
    places = [one.end_line for one in _ran(text, seed)]
    written = text
    for _ in range(ROUNDS):
        before, lines = written, text.split("\n")
        for place, ran in reversed(list(zip(places, _ran(written, seed), strict=False))):
            lines[place:place] = _comments(ran)
        written = "\n".join(lines)
        if written == before:
            break
    return written


def _ran(text: str, seed: int) -> list[CheckedRun]:
    """Run a script in a session of its own; return what its statements showed."""
    recorder = ScriptRecorder()
    Session(seed).run(text, recorder, name="<session>", keep_going=True)
    return recorder.ran


def _comments(ran: CheckedRun) -> list[str]:
    return [*(as_comment("#>", line) for line in ran.output), *(as_comment("#!", line) for line in ran.failure)]
