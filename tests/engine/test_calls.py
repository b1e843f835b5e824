"""Every way to call every operation gives, however often, what its first call gives in the general way."""

import json
import subprocess
import sys

from tests.sweep import SWEEP

ROUNDS = 10 if SWEEP else 2
"""How often each form is called; an operation has about six forms, so that its fast paths are at work from the first round on."""


def every_form() -> dict[str, dict[str, list[str]]]:
    """What each form gave in a process that has no fast path, in a Python program and in a session."""
    rounds = {"general": 1, "library": ROUNDS, "script": max(ROUNDS // 3, 1)}
    commands = {kind: [sys.executable, "-m", "tests.engine.call_forms", kind, str(count)] for kind, count in rounds.items()}
    running = {kind: subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for kind, command in commands.items()}
    return {kind: dict(json.loads(process.communicate()[0])) for kind, process in running.items()}


def test_every_form_gives_what_the_general_way_gives() -> None:
    told = every_form()
    general = told.pop("general")
    assert len(general) > 1500
    for kind, forms in told.items():
        assert {form: found for form, found in forms.items() if found != general[form]} == {}, kind
