"""The commands: one file each, one line each in this list.

The list is the reader's table of contents and all that the parser needs: a command's line is its grammar (the tests
check it against the signature of `run` in the file of that name), its file is imported on first use. Every command
also takes `--format` and `--output`, which the session handles.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsh.commands.record import CommandRecord
    from gradsh.language.command_line import CommandGrammar

USAGE: dict[str, str] = {
    "backward": "T… [--grad T]… [--retain] [--create-graph] [--inputs T…] [--plan] [--step]",
    "plan": "T… [--grad T]… [--retain] [--create-graph] [--inputs T…] [--fits SIZE] [--vary NAME] [--if STR]… [--best SIZE]",
    "retain": "[E…] [--grad]",
    "release": "[EXPR…] [--free]",
    "graph": (
        "[T…] [--depth N] [--expand] [--limit N] [--by module|function|line|none] [--open WORD] [--from T…] "
        "[--to T…] [--state live|freed|pinned|modified] [--name WORD]"
    ),
    "browse": "[T…]",
    "buffers": "[T…] [--live] [--freed] [--sort graph|line|bytes] [--by module|line|op|function|variable]",
    "memory": "[--by module|line|op|function|variable]",
    "top": "",
    "holders": "T",
    "leaks": "",
    "diff": "[WORD…]",
    "why": "[E]",
    "check": "EXPR [--inputs T…]",
    "vars": "",
    "watch": "[EXPR…] [--off]",
    "fix": "[N]",
    "undo": "[N]",
    "redo": "",
    "mark": "[WORD]",
    "back": "WORD",
    "tour": "",
    "time": "STATEMENT",
    "history": "[N] [--export FILE]",
    "save": "FILE [--expect]",
    "load": "FILE",
    "reset": "",
    "set": "[WORD] [TEXT]",
    "quit": "[N]",
    "exit": "[N]",
    "help": "[TEXT]",
    "explain": "[TEXT]",
    "expect": "error [KIND]: STATEMENT",
}


class Grammars(Mapping[str, "CommandGrammar"]):
    """The grammars of the commands by name, each read from its usage line when first asked for."""

    def __init__(self) -> None:
        self._read: dict[str, CommandGrammar] = {}

    def __getitem__(self, name: str) -> "CommandGrammar":
        if name not in self._read:
            from gradsh.commands.usage import grammar_of

            self._read[name] = grammar_of(name, USAGE[name])
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in USAGE

    def __iter__(self) -> Iterator[str]:
        return iter(USAGE)

    def __len__(self) -> int:
        return len(USAGE)


GRAMMARS = Grammars()


def find(name: str) -> "CommandRecord":
    """Return the record of a command, importing its file if need be; KeyError for a name that is none."""
    from importlib import import_module

    if name not in USAGE:
        raise KeyError(name)
    record: CommandRecord = import_module(f"gradsh.commands.{name}").run.__command__
    return record
