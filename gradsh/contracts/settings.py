"""The settings of a session, each declared once: `set`, `config.toml`, completion and whoever acts by one read this table."""

from __future__ import annotations

from typing import Any

from gradsh.text.tuples import NamedTuple

ON_OFF = ("on", "off")


class Setting(NamedTuple):
    """A setting: what it means, the words it chooses from (none: any text), its first value, whether prompts alone have it."""

    meaning: str
    choices: tuple[str, ...] = ON_OFF
    default: str = "off"
    shell: bool = False

    def value(self, word: str) -> Any:
        """Return what a word stands for: True and False for on and off."""
        return word == "on" if self.choices == ON_OFF else word


SETTINGS: dict[str, Setting] = {
    "account": Setting("tell after each statement what it changed in the graph, in one line"),
    "atomic": Setting("a pass that fails leaves nothing freed and nothing written; gradients and buffers are held until its end"),
    "cuda": Setting("what asking for a GPU does: explain, or ignore to go on as if there were one", ("explain", "ignore"), "explain"),
    "hints": Setting("tell once what is a mistake although nothing fails, as gradients that add up without zero_grad (`explain silent`)"),
    "timing": Setting("tell after each statement how long it took"),
    "theme": Setting(
        "colours: auto follows COLORFGBG where it is set, none has no colour", ("auto", "dark", "light", "none"), "auto", shell=True
    ),
    "keys": Setting("keys for editing", ("emacs", "vi"), "emacs", shell=True),
    "prompt": Setting("what stands before a statement", (), "grad> ", shell=True),
    "complete": Setting("when completions are shown: while typing, or at Tab", ("typing", "tab"), "typing", shell=True),
    "suggestions": Setting("the rest of an earlier line, in grey", default="on", shell=True),
    "signature": Setting("the signature of the call that the cursor is in", default="on", shell=True),
    "status": Setting("the line below with tensors, buffers, bytes, grad mode and pins", default="on", shell=True),
    "confirm": Setting("leaving asks first, where statements are not saved", shell=True),
    "pager": Setting("a command's long output goes through a pager ($PAGER, less)", default="on", shell=True),
}


def defaults(shell: bool) -> dict[str, Any]:
    """Return the first values of the settings that scripts have, or of those that prompts alone have."""
    return {name: setting.value(setting.default) for name, setting in SETTINGS.items() if setting.shell == shell}


class Settings:
    """The values of a session's settings, which are attributes, too. A prompt adds its own."""

    __slots__ = ("keys", "values")

    def __init__(self) -> None:
        self.values = defaults(shell=False)
        self.keys: tuple[tuple[str, str], ...] = ()
        """The shell's keys and what they do."""

    def __getattr__(self, name: str) -> Any:
        if name not in SETTINGS:
            raise AttributeError(name)
        return self.values[name]

    def known(self) -> dict[str, Setting]:
        """Return the settings that the session has."""
        return {name: setting for name, setting in SETTINGS.items() if name in self.values}
