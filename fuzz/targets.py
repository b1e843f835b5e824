"""What is fuzzed: each target draws a hostile input and holds gradsh to its word about it (`tests/robustness/held.py`)."""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.robustness import held
from tests.robustness.hostile import Hostile
from tests.robustness.hostile_objects import HostileObjects

Draw = Callable[[Hostile], object]
FOLDER = Path(tempfile.gettempdir()) / f"gradsh-fuzz-{os.getpid()}"


def _text(hostile: Hostile) -> tuple[object, ...]:
    return (hostile.program(),)


def _golden(hostile: Hostile) -> tuple[object, ...]:
    return hostile.golden(), FOLDER / "x.grad"


def _commands(hostile: Hostile) -> tuple[object, ...]:
    return hostile.commands(), held.LIMITS._replace(allow_files=str(FOLDER))


def _settings(hostile: Hostile) -> tuple[object, ...]:
    return hostile.toml(), hostile.history(), FOLDER


def _pasted(hostile: Hostile) -> tuple[object, ...]:
    return (hostile.pasted(),)


def _file(hostile: Hostile) -> tuple[object, ...]:
    data = hostile.program().encode("utf-8", "surrogatepass") if hostile.random.random() < 0.8 else hostile.history()
    return data, FOLDER


def _answer(hostile: Hostile) -> tuple[object, ...]:
    return hostile.answer(), hostile.raw()


def _objects(hostile: Hostile) -> tuple[object, ...]:
    return (HostileObjects(hostile.random).program(),)


def _raw(hostile: Hostile) -> tuple[object, ...]:
    return (hostile.raw(),)


TARGETS: dict[str, tuple[Callable[[Hostile], tuple[object, ...]], Callable[..., object]]] = {
    "parse": (_text, held.parses_or_explains),
    "raw": (_raw, held.parses_or_explains),
    "paste": (_pasted, held.paste_is_mended),
    "run": (_text, held.runs_or_explains),
    "load": (_file, held.loads_or_explains),
    "answers": (_answer, held.answer_is_read),
    "objects": (_objects, held.objects_stay_inside),
    "golden": (_golden, held.golden_is_judged),
    "commands": (_commands, held.runs_or_explains),
    "settings": (_settings, held.settings_are_read),
}
"""Name -> what draws the arguments, and the check that takes them."""


def attempt(name: str, random: Random) -> None:
    """Draw one input of a target and check it; what breaks is shown before the exception goes on."""
    FOLDER.mkdir(exist_ok=True)
    draw, check = TARGETS[name]
    arguments = draw(Hostile(random))
    try:
        check(*arguments)
    except BaseException:
        sys.stderr.write(f"\n{name}: {arguments!r}\n")
        raise
