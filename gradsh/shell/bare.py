"""The bare prompt: lines read one by one, without colour or redrawing, for plain terminals and screen readers."""

import sys

from gradsh.process.signals import Raising, wait_in_turns
from gradsh.shell.host import Host, loop
from gradsh.shell.scripts import begin_with_scripts

MORE = "....> "
_PAUSE = 0.02
"""Seconds within which the next line of a pasted text comes."""
KEYS = (
    ("Enter", "run a complete statement, else start a new line; an empty line ends a block"),
    ("Up / Down", "earlier statements that begin with the typed text"),
    ("Ctrl-R", "search the history backwards"),
    ("Ctrl-C", "discard the line; while a statement runs: interrupt it"),
    ("Ctrl-D", "quit, on an empty line"),
    ("Ctrl-Z", "suspend; `fg` resumes"),
)


def open_bare(host: Host) -> int:
    """Greet, then read statements until the end of input; return the exit status."""
    host.asker, host.keys = ask, KEYS
    _remember(host)
    host.greet()
    host.begin()
    host.start()
    if host.has_scripts:
        begin_with_scripts(host)
    return loop(host, lambda: read_block(host))


def _remember(host: Host) -> None:
    """Give Up and Ctrl-R the history, where Python has readline."""
    try:
        import readline
    except ImportError:
        return
    readline.parse_and_bind("set enable-bracketed-paste off")  # it writes escapes
    for key, command in (("A", "backward"), ("B", "forward")):
        readline.parse_and_bind(f'"\\e[{key}": history-search-{command}')
        readline.parse_and_bind(f'"\\eO{key}": history-search-{command}')
    for entry in host.history.load():
        if "\n" not in entry:
            readline.add_history(entry)


def line(prompt: str) -> str:
    """Read a line; raises EOFError at the end of input, KeyboardInterrupt for Ctrl-C.

    Where the output is no terminal, the prompt stays out of it.
    """
    with Raising():
        return _line(prompt)


def _line(prompt: str) -> str:
    if sys.stdout.isatty():
        return wait_in_turns(lambda: input(prompt))
    sys.stderr.write(prompt)
    sys.stderr.flush()
    text = sys.stdin.readline()
    if not text:
        raise EOFError
    return text.rstrip("\r\n")


def ask(prompt: str) -> str | None:
    """Return what is answered to a question, None at the end of input or Ctrl-C."""
    try:
        return line(prompt)
    except (EOFError, KeyboardInterrupt):
        sys.stdout.write("\n")
        return None


def _more_waits() -> bool:
    """Whether further lines have come already: those of a text that was pasted, whose empty lines end no block."""
    import select

    try:
        return sys.stdin.isatty() and bool(select.select([sys.stdin], [], [], _PAUSE)[0])
    except (OSError, ValueError):  # a system on which only sockets can be asked
        return False


def read_block(host: Host) -> str | None:
    """Read lines until they make a complete input; None at the end of input. Ctrl-C drops what was typed."""
    lines: list[str] = []
    while True:
        try:
            lines.append(line(MORE if lines else str(host.setting("prompt"))))
        except EOFError:
            sys.stdout.write("\n")
            return "\n".join(lines) if lines else None
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            lines = []
            continue
        text = "\n".join(lines)
        if host.is_complete(text) and not (len(lines) > 1 and _more_waits()):
            text = text.rstrip()  # the empty line that ended a block is none of its lines
            if text:
                host.history.append(text)
            return text
