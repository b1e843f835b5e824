"""The commands: one file each, one line each in this list.

The list is the reader's table of contents and all that the parser needs: a command's line is its grammar (the tests
check it against the signature of `run` in the file of that name), its file is imported on first use.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradsh.commands.record import Command
    from gradsh.language.command_line import CommandGrammar

USAGE: dict[str, str] = {
}
