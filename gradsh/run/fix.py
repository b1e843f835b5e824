"""`gradsh fix FILE`: finds an edit that was seen to work for the first failure of a script, shows it, writes it if asked."""

import sys
from pathlib import Path

from gradsh.contracts.events import Event, Failure
from gradsh.contracts.state import Failed
from gradsh.session.session import Session
from gradsh.text.fix import Fix, applied, difference

MOST = 20
"""Fixes that are made one after the other."""


def fix_file(name: str, *, apply: bool = False, everything: bool = False) -> int:
    """Fix a script; return 0 where it runs or was helped, 1 where nothing helps, 2 where it cannot be read."""
    try:
        before = text = Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"gradsh: cannot read {name}: {error}\n")
        return 2
    status = 0
    for _ in range(MOST if everything else 1):
        failed, fix = _first(text, name)
        if failed is None:
            sys.stdout.write(f"{name}: no statement fails\n" if text == before else f"{name}: runs now\n")
            break
        if fix is None:
            problem = failed.problem
            sys.stdout.write(f"{name}:{failed.line}: error[{problem.kind}]: no edit was seen to help\n")
            sys.stdout.write("".join(f"  help: {line}\n" for line in problem.help))
            status = 1
            break
        sys.stdout.write(f"{name}:{failed.line}: {fix.line()}\n")
        sys.stdout.write("".join(f"  {line}\n" for line in difference(text.split("\n"), fix.edits)))
        text = "\n".join(applied(text.split("\n"), fix.edits)[0])
    if apply and text != before:
        from gradsh.process.files import write_whole

        write_whole(Path(name), text.encode())
    return status


def _first(text: str, name: str) -> tuple[Failed | None, Fix | None]:
    """Return the first failure of a script that it does not announce, and the best fix that was seen to work."""
    session, found = Session(), False

    def emit(event: Event) -> None:
        nonlocal found
        found = found or (isinstance(event, Failure) and not event.expected)

    session.run(text, emit, name=name)
    if not found or session.state.failed is None:
        return None, None
    failed = session.tried(session.state.failed)
    return failed, next((fix for fix in failed.problem.fixes if fix.tried and not fix.here), None)
