"""`set`: shows and changes settings."""

from typing import NamedTuple

from gradsh.commands.record import Text, Word, command
from gradsh.contracts.settings import ON_OFF, SETTINGS
from gradsh.contracts.state import State
from gradsh.engine.ambient import current
from gradsh.probe.accounts import take_account
from gradsh.probe.meter import Meter
from gradsh.process.limits import LIMITS
from gradsh.text.fault import fail
from gradsh.view.shapes import Column, Row, Table, View

_MEANT = {"true": "on", "True": "on", "yes": "on", "false": "off", "False": "off", "no": "off"}


class SettingRow(NamedTuple):
    """A setting: name, value as it is typed, meaning."""

    name: str
    value: str
    meaning: str


class Report(NamedTuple):
    """The settings that are shown, and what the change costs."""

    settings: tuple[SettingRow, ...]
    note: str = ""


@command("set", "Show the settings, or change one.", examples=["set", "set atomic on", "set timing off"])
def run(state: State, name: Word | None = None, value: Text | None = None) -> Report:
    """`set NAME` shows one setting, `set NAME VALUE` changes it.

    Fails with kind `value` for an unknown name or value.
    """
    if name is None:
        return Report(tuple(_shown(state, each) for each in meanings(state)))
    key = str(name)
    if key not in meanings(state):
        raise _unknown(state, key)
    word = "" if value is None else str(value).strip()
    if key in LIMITS:
        return Report((SettingRow(key, state.control.limit(key, word or None), LIMITS[key].meaning),))
    if word:
        _change(state, key, unquoted(word))
    note = ""
    if key == "atomic" and value is not None and state.settings.atomic:
        note = f"backward now frees its buffers only at its end: up to {_reclaimable(state):,} B more memory"
    return Report((_shown(state, key),), note)


def meanings(state: State) -> dict[str, str]:
    """Return what each setting and limit of the session means: those of scripts, limits, those of prompts."""
    known = state.settings.known()
    limits = {name: limit.meaning for name, limit in LIMITS.items() if limit.meaning}
    own, shell = ({name: one.meaning for name, one in known.items() if one.shell == at_prompt} for at_prompt in (False, True))
    return own | limits | shell


def unquoted(text: str) -> str:
    """Return a value without the quotes that keep its blanks."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def choices_of(state: State, key: str) -> tuple[str, ...]:
    """Return the words that a setting chooses from; none where it takes any text, or where there is no such setting."""
    if key == "sandbox":
        return ON_OFF
    known = state.settings.known()
    return known[key].choices if key in known else ()


def _change(state: State, key: str, word: str) -> None:
    setting = SETTINGS[key]
    if setting.choices == ON_OFF:
        word = _MEANT.get(word, word)
    if setting.choices and word not in setting.choices:
        raise fail("value", f"{key} can be {' or '.join(setting.choices)}, not {word}", ValueError)
    state.settings.values[key] = setting.value(word)
    if key == "atomic":
        current().atomic = state.settings.atomic
    if key == "cuda":
        current().flags["cuda"] = word
    if key == "account" and state.meter is None:
        state.meter = Meter()


def _unknown(state: State, key: str) -> Exception:
    from difflib import get_close_matches

    names = list(meanings(state))
    near = get_close_matches(key, names, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
    return fail("value", f"there is no setting {key}{hint}", ValueError, candidates=near)


def _shown(state: State, key: str) -> SettingRow:
    if key in LIMITS:
        return SettingRow(key, state.control.limit(key), LIMITS[key].meaning)
    value = state.settings.values[key]
    return SettingRow(key, {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value), SETTINGS[key].meaning)


def _reclaimable(state: State) -> int:
    return take_account(state.names_in_reach()).graph


def view(report: Report) -> View:
    """Shape the settings as a table."""
    rows = tuple(Row(tuple(one)) for one in report.settings)
    return Table((Column("setting"), Column("value"), Column("meaning")), rows, (report.note,) if report.note else ())
