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
    "account": Setting("show after each statement what it changed in the graph, in one line"),
    "atomic": Setting("a backward that fails frees nothing and writes nothing; buffers and gradients are kept until it ends"),
    "cuda": Setting("what a request for a GPU does: explain (an error), or ignore (computes on the CPU)", ("explain", "ignore"), "explain"),
    "hints": Setting("show hints about mistakes that raise no error, such as a missing zero_grad (`explain silent`)"),
    "timing": Setting("show after each statement how long it took"),
    "theme": Setting(
        "colours: auto reads COLORFGBG, none uses no colour", ("auto", "dark", "light", "none"), "auto", shell=True
    ),
    "keys": Setting("keys for editing", ("emacs", "vi"), "emacs", shell=True),
    "prompt": Setting("the prompt", (), "grad> ", shell=True),
    "complete": Setting("when completions are shown: while typing, or on Tab", ("typing", "tab"), "typing", shell=True),
    "suggestions": Setting("suggest the rest of an earlier line, in grey", default="on", shell=True),
    "signature": Setting("show the signature of the call at the cursor", default="on", shell=True),
    "status": Setting("show the status line: tensors, buffers, bytes, grad mode, pins", default="on", shell=True),
    "top": Setting("show while a statement runs what it holds: nodes, bytes by owner, growth, gradient norms (`top`)", shell=True),
    "confirm": Setting("ask before quitting with unsaved statements", shell=True),
    "pager": Setting("show long output of commands in a pager ($PAGER, less)", default="on", shell=True),
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
