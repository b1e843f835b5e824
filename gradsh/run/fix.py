"""`gradsh fix FILE`: finds an edit that was seen to work for the first failure of a script, shows what it changes, writes it if asked."""

import sys
from pathlib import Path
from typing import Any, NamedTuple

from gradsh.commands.fix import table_of
from gradsh.contracts.events import Event, Failure
from gradsh.contracts.state import Failed
from gradsh.probe.gradients import changed, gradients_of
from gradsh.process.files import write_whole
from gradsh.process.limits import Limits
from gradsh.render.style import Style
from gradsh.render.table import draw
from gradsh.run.modules_beside import modules_beside
from gradsh.run.read import Script, read_script
from gradsh.run.script import DONE, FAILED, INTERRUPTED, RunOptions, enclose, module_reader
from gradsh.run.workers import Lost, answers
from gradsh.session.session import Session
from gradsh.text.fix import Fix, applied, difference
from gradsh.text.span import Source

MOST = 20
"""Fixes that are made one after the other."""


class Mended(NamedTuple):
    """What fixing a script showed and made of its text and of the modules beside it (file -> text), and the exit status."""

    status: int
    shown: str
    texts: dict[str, str]

    @classmethod
    def read(cls, told: Any) -> "Mended":
        """Make one of what came as JSON."""
        status, shown, texts = told
        return cls(int(status), str(shown), {str(file): str(text) for file, text in texts.items()})


def fix_file(name: str, *, apply: bool = False, everything: bool = False) -> int:
    """Fix a script, in a process behind the walls; return 0 where it runs now, 1 where nothing helps, 2 where it cannot be read."""
    script = read_script(name)
    if script.unreadable:
        sys.stderr.write(f"gradsh: cannot read {name}: {script.unreadable}\n")
        return 2

    def task(script: Script) -> Mended:
        enclose(RunOptions(limits=Limits(sandbox="auto")), script)
        return mended(script, everything=everything)

    ((_, answer),) = answers(task, [script], read=Mended.read)
    if isinstance(answer, Lost):
        sys.stderr.write(f"{name}:{answer.line}: error[limit]: {answer.reason}\n")
        return INTERRUPTED if answer.interrupted else FAILED
    sys.stdout.write(answer.shown)
    own = {Path(file).resolve() for file in (name, *modules_beside(name, script.text))}
    for file, text in answer.texts.items() if apply else ():
        if Path(file).resolve() in own:  # the process behind the walls is not trusted with other names
            write_whole(Path(file), text.encode())
    return answer.status


def mended(script: Script, *, everything: bool) -> Mended:
    """Make the best fix of the script's first failure, or of each in turn, and tell what it changes."""
    name, shown = script.name, [""]
    texts: dict[str, str] = {}
    session, failed = _run(script, texts)
    if failed is None:
        shown.append(f"{name}: no statement fails\n")
    for number in range(MOST):
        if failed is None:
            break
        if number and not everything:
            shown.append(f"{name}:{failed.line}: error[{failed.problem.kind}] is next; use `--all` to continue\n")
            break
        fix, gradients = _best(session, failed, name, shown), gradients_of(session.state.variables)
        if fix is None:
            return Mended(FAILED, "".join(shown), texts)
        for file in dict.fromkeys(edit.file for edit in fix.edits):
            text = texts[file] if file in texts else script.text if file == name else read_script(file).text
            lines = text.split("\n")
            edits = tuple(edit for edit in fix.edits if edit.file == file)
            shown += [f"  in {file}:\n"] * (file != name) + [f"  {line}\n" for line in difference(lines, edits)]
            texts[file] = "\n".join(applied(lines, edits)[0])
        session, failed = _run(script, texts)
        shown += _told_gradients(gradients, gradients_of(session.state.variables))
        shown.append(f"{name}: now runs\n" if failed is None else "")
    return Mended(DONE, "".join(shown), texts)


def _run(script: Script, texts: dict[str, str]) -> tuple[Session, Failed | None]:
    """Run a script with other texts for its files; return its session, and its first failure that it does not announce."""
    session, found = Session(), False

    def emit(event: Event) -> None:
        nonlocal found
        found = found or (isinstance(event, Failure) and not event.expected)

    read = module_reader(script)

    def reading(place: str) -> Source | None:
        source = read(place) if read is not None else None
        return Source(source.name, texts[source.name]) if source is not None and source.name in texts else source

    session.machine.read_module = reading
    session.run(texts.get(script.name, script.text), emit, name=script.name)
    return session, session.state.failed if found else None


def _best(session: Session, failed: Failed, name: str, shown: list[str]) -> Fix | None:
    """Return the best fix of a failure that was seen to work, and tell it in `shown`; where there is none, tell what is advised."""
    problem = session.tried(failed).problem
    fix = next((one for one in problem.fixes if one.tried and not one.here), None)
    if fix is not None:
        shown.append(f"{name}:{failed.line}: {fix.line()}\n")
    else:
        shown.append(f"{name}:{failed.line}: error[{problem.kind}]: no edit that was tried helps\n")
        shown += [f"  help: {line}\n" for line in problem.help]
    return fix


def _told_gradients(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [f"  {line}\n" for line in draw(table_of(changed(before, after)), Style())]
