"""`gradsh fix FILE`: finds an edit that was seen to work for the first failure of a script, shows what it changes, writes it if asked."""

import sys
from pathlib import Path

from gradsh.commands.fix import table_of
from gradsh.contracts.events import Event, Failure
from gradsh.contracts.state import Failed
from gradsh.probe.gradients import changed, gradients_of
from gradsh.render.style import Style
from gradsh.render.table import draw
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
    session, failed = _run(text, name)
    helped = True
    if failed is None:
        sys.stdout.write(f"{name}: no statement fails\n")
    for number in range(MOST):
        if failed is None:
            break
        if number and not everything:
            sys.stdout.write(f"{name}:{failed.line}: error[{failed.problem.kind}] is next: `--all` goes on\n")
            break
        fix, gradients = _best(session, failed, name), gradients_of(session.state.variables)
        helped = fix is not None
        if fix is None:
            break
        sys.stdout.write("".join(f"  {line}\n" for line in difference(text.split("\n"), fix.edits)))
        text = "\n".join(applied(text.split("\n"), fix.edits)[0])
        session, failed = _run(text, name)
        _tell_gradients(gradients, gradients_of(session.state.variables))
        sys.stdout.write(f"{name}: runs now\n" if failed is None else "")
    if apply and text != before:
        from gradsh.process.files import write_whole

        write_whole(Path(name), text.encode())
    return int(not helped)


def _run(text: str, name: str) -> tuple[Session, Failed | None]:
    """Run a script; return its session, and its first failure that it does not announce."""
    session, found = Session(), False

    def emit(event: Event) -> None:
        nonlocal found
        found = found or (isinstance(event, Failure) and not event.expected)

    session.run(text, emit, name=name)
    return session, session.state.failed if found else None


def _best(session: Session, failed: Failed, name: str) -> Fix | None:
    """Return the best fix of a failure that was seen to work, and tell it; where there is none, tell what is advised."""
    problem = session.tried(failed).problem
    fix = next((one for one in problem.fixes if one.tried and not one.here), None)
    if fix is not None:
        sys.stdout.write(f"{name}:{failed.line}: {fix.line()}\n")
    else:
        sys.stdout.write(f"{name}:{failed.line}: error[{problem.kind}]: no edit was seen to help\n")
        sys.stdout.write("".join(f"  help: {line}\n" for line in problem.help))
    return fix


def _tell_gradients(before: dict[str, str], after: dict[str, str]) -> None:
    lines = draw(table_of(changed(before, after)), Style())
    sys.stdout.write("".join(f"  {line}\n" for line in lines))
