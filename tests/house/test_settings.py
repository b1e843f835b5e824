"""A setting is declared once: `set`, `config.toml` and completion know of it at once; a limit also has its option."""

from typing import Any

import pytest

from gradsh.__main__ import fast_options
from gradsh.cli.app import described
from gradsh.commands.set import meanings
from gradsh.contracts.settings import SETTINGS, Setting, defaults
from gradsh.process.limits import LIMITS, Limits
from gradsh.session.session import Session
from gradsh.shell.candidates import Candidates
from gradsh.shell.config import Config


def test_a_new_setting_is_known_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SETTINGS, "whisper", Setting("say it in small letters", ("softly", "loudly"), "softly"))
    monkeypatch.setitem(SETTINGS, "halo", Setting("a ring around the cursor", shell=True))
    session = Session(typed=True)
    session.state.settings.values |= defaults(shell=True)
    shown: list[Any] = []
    assert session.run("set whisper loudly\nset halo on\nset", shown.append).status == 0
    rows = {row.name: row.value for event in shown for row in getattr(getattr(event, "report", None), "settings", ())}
    assert (rows["whisper"], rows["halo"], session.state.settings.whisper) == ("loudly", "on", "loudly")
    assert session.run("set whisper shrilly", shown.append).status == 1
    config = Config()
    config.read('whisper = "loudly"\nhalo = true\nwhispr = "softly"', "config.toml")
    assert (config.shared["whisper"], config.values["halo"]) == ("loudly", True)
    assert [problem.rpartition("; ")[2] for problem in config.problems] == ["did you mean whisper?"]
    offered = {text: {one.text for one in Candidates(session).at(text)[1]} for text in ("set wh", "set whisper ", "set halo ")}
    assert offered == {"set wh": {"whisper"}, "set whisper ": {"softly", "loudly"}, "set halo ": {"on", "off"}}


def test_each_limit_has_an_option_and_a_meaning() -> None:
    assert {*LIMITS} == {*Limits._fields}
    run = next(sub for sub in described() if sub.name == "run")
    options = {name: flag for flag in run.flags for name in flag.names}
    session = Session(typed=True)
    for name, limit in LIMITS.items():
        option = f"--{name.replace('_', '-')}"
        assert options[option].help == limit.option
        assert (name in meanings(session.state)) == bool(limit.meaning)
        value = {"SECONDS": "7", "SIZE": "7M", "N": "7", "DIR": "/tmp"}.get(limit.takes, "off")
        found = fast_options(["run", option, value, "file.grad"])
        assert found is not None
        assert getattr(found.limits, name) is not None
