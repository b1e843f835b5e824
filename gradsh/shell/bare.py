"""The bare prompt: lines read one by one, for terminals that can do no more."""

import sys
from typing import TYPE_CHECKING

from gradsh.batch import DONE, RunOptions, interruptible, prepare
from gradsh.sinks import looks_of, sink_for

if TYPE_CHECKING:
    from gradsh.session import Session

PROMPT = "grad> "
MORE = "....> "


def interactive(options: RunOptions) -> int:
    """Read statements until the end of input, or until one asks to leave; return the exit status."""
    prepare()
    from gradsh.session import Session

    session = Session(options.seed, limits=options.limits, typed=True)
    sink = sink_for(looks_of("text", plain=options.plain, several=False), None, sys.stdout, sys.stderr)
    sys.stdout.write("gradsh: type tensor expressions, `backward z`, `graph z`, `buffers`; `help` says more.\n")
    line = 1
    while session.left is None:
        text = read_block(session)
        if text is None:
            sys.stdout.write("\n")
            break
        with interruptible(session):
            session.run(text, sink, name="<shell>", first_line=line)
        line += text.count("\n") + 1
    return session.left or DONE


def read_block(session: "Session") -> str | None:
    """Read lines until they make a complete input; None at the end of input. Ctrl-C drops what was typed."""
    lines: list[str] = []
    while True:
        try:
            lines.append(input(MORE if lines else PROMPT))
        except EOFError:
            return "\n".join(lines) if lines else None
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            lines = []
            continue
        text = "\n".join(lines)
        if session.is_complete(text):
            return text
