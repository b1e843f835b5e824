"""`set`: shows and changes settings."""

from typing import Any, NamedTuple

from gradsh.commands.record import Text, Word, command
from gradsh.contracts.state import State
from gradsh.engine.ambient import current
from gradsh.text.fault import fail
from gradsh.view.shapes import Column, Row, Table, View

MEANING = {
    "account": "tell after each statement what it changed in the graph, in one line",
    "atomic": "a pass that fails leaves nothing freed and nothing written; gradients and buffers are held until its end",
    "cuda": "what asking for a GPU does: explain, or ignore to go on as if there were one",
    "hints": "tell once what is a mistake although nothing fails, as gradients that add up without zero_grad (`explain silent`)",
    "timing": "tell after each statement how long it took",
}
LIMITS = {
    "timeout": "seconds that one input may take",
    "max_memory": "bytes that the session may take from now on, as 500M or 2G",
    "max_output": "characters that one input may print",
    "max_nodes": "nodes that may be recorded from now on",
    "sandbox": "on: gradsh gives up files, processes and the network, for as long as it runs",
}
_WORDS: dict[str, Any] = {"on": True, "off": False}
_MEANT = {"true": "on", "True": "on", "yes": "on", "false": "off", "False": "off", "no": "off"}
_CHOICES = {"cuda": ("explain", "ignore")}


class Setting(NamedTuple):
    """A setting: name, value as it is typed, meaning."""

    name: str
    value: str
    meaning: str


class Report(NamedTuple):
    """The settings that are shown, and what the change costs."""

    settings: tuple[Setting, ...]
    note: str = ""


@command("set", "Show the settings, or change one.", examples=["set", "set atomic on", "set timing off"])
def run(state: State, name: Word | None = None, value: Text | None = None) -> Report:
    """Change a setting and return it; without a value show it, without a name all. Raises (kind `value`) for others."""
    if name is None:
        return Report(tuple(_shown(state, one) for one in [*MEANING, *LIMITS, *state.settings.values]))
    key = str(name)
    if key in LIMITS:
        word = None if value is None or not str(value).strip() else str(value).strip()
        return Report((Setting(key, state.control.limit(key, word), LIMITS[key]),))
    if value is not None and str(value).strip():
        _change(state, key, unquoted(str(value).strip()))
    elif key not in MEANING and key not in state.settings.preferences:
        raise _unknown(state, key)
    note = ""
    if key == "atomic" and value is not None and state.settings.atomic:
        note = f"a pass now holds what it would free until its end: up to {_reclaimable(state):,} B more just now"
    return Report((_shown(state, key),), note)


def unquoted(text: str) -> str:
    """Return a value without the quotes that keep its blanks."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def choices_of(state: State, key: str) -> tuple[str, ...]:
    """Return the words that a setting chooses from; none where it takes any text, or where there is no such setting."""
    if key in state.settings.preferences:
        return state.settings.preferences[key].choices
    return _CHOICES.get(key, tuple(_WORDS)) if key in MEANING or key == "sandbox" else ()


def _change(state: State, key: str, word: str) -> None:
    if key not in MEANING and key not in state.settings.preferences:
        raise _unknown(state, key)
    choices = choices_of(state, key)
    if "on" in choices:
        word = _MEANT.get(word, word)
    if choices and word not in choices:
        raise fail("value", f"{key} can be {' or '.join(choices)}, not {word}", ValueError)
    if key in state.settings.preferences:
        state.settings.values[key] = _WORDS.get(word, word)
        return
    setattr(state.settings, key, _WORDS.get(word, word))
    if key == "atomic":
        current().atomic = state.settings.atomic
    if key == "cuda":
        current().flags["cuda"] = word
    if key == "account" and state.meter is None:
        from gradsh.probe.meter import Meter

        state.meter = Meter()


def _unknown(state: State, key: str) -> Exception:
    from difflib import get_close_matches

    names = [*MEANING, *LIMITS, *state.settings.values]
    near = get_close_matches(key, names, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
    return fail("value", f"no setting is called {key}{hint}", ValueError, candidates=near)


def _shown(state: State, key: str) -> Setting:
    if key in LIMITS:
        return Setting(key, state.control.limit(key), LIMITS[key])
    value = getattr(state.settings, key, None) if key in MEANING else state.settings.values[key]
    words = {True: "on", False: "off"}
    own = state.settings.preferences.get(key)
    text = words[value] if isinstance(value, bool) else str(value)
    return Setting(key, text, MEANING[key] if own is None else own.meaning)


def _reclaimable(state: State) -> int:
    from gradsh.probe.accounts import take_account

    return take_account(state.names_in_reach()).graph


def view(report: Report) -> View:
    """Shape the settings as a table."""
    rows = tuple(Row(tuple(one)) for one in report.settings)
    return Table((Column("setting"), Column("value"), Column("meaning")), rows, (report.note,) if report.note else ())
