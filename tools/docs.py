"""Writes the generated documents: reference pages from the records, the README's session as a picture.

Sessions in the other documents are refreshed: a turn that no longer shows what it says is shown anew. `python -m
tools.docs` (or `make docs`) writes; with `--check` it only says what is out of date, with exit status 1.
"""

import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from gradsh.batch import RunOptions, Script
from gradsh.commands import USAGE, find
from gradsh.engine.op import lookup, operations
from gradsh.golden.check import check_script
from gradsh.golden.compare import Tolerance
from gradsh.golden.update import proposed
from gradsh.text.kind import Kind
from gradsh.text.kinds import KINDS
from tools.sessions import FENCE, PROMPT, refreshed, session_of

ROOT = Path(__file__).parents[1]
VARYING = frozenset({"explain", "help", "time"})  # what they show is another thing each time, or elsewhere in full
MADE = "<!-- Written by tools/docs.py from the records; change those, then run `make docs`. -->\n\n"

ERRORS = """# Kinds of errors

Kinds are stable: scripts, goldens and consumers of the JSON name them. In the shell, `explain KIND` says the same, and
`explain` with PyTorch's sentence finds the kind.
"""
COMMANDS = """# Commands

A command's name that the program has not bound starts a command, wherever a statement may stand. Every command takes
`--format text|json` (graphs also `dot` and `mermaid`) and, where a person types it, `--output FILE`.
"""
OPERATIONS = """# Operations

What an operation saves for backward is what its derivatives read. An input that only the derivative for another input
reads is saved only if that one needs a gradient.

| operation | node | saves | what it computes |
| --- | --- | --- | --- |"""


def pages() -> dict[Path, str]:
    """Return every generated or refreshed document: path -> text."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {
        **{path: refreshed_page(path.read_text(encoding="utf-8")) for path in written},
        ROOT / "docs/reference/errors.md": errors_page(),
        ROOT / "docs/reference/commands.md": commands_page(),
        ROOT / "docs/reference/operations.md": operations_page(),
        ROOT / "docs/session.svg": session_picture(),
    }


def refreshed_page(text: str) -> str:
    """Return a document with its sessions refreshed."""
    return FENCE.sub(lambda m: f"```grad\n{refreshed(m[1])}```" if m[1].startswith(PROMPT) else m[0], text)


def errors_page() -> str:
    """Every kind of error: what it means, an example, the ways out. The examples are golden tests."""
    out = [ERRORS]
    for kind in KINDS.values():
        out += _kind(kind)
    return MADE + "\n".join(out)


def _kind(kind: Kind) -> Iterator[str]:
    yield f"## {kind.name}\n"
    yield f"{kind.summary[0].upper()}{kind.summary[1:]}.\n"
    if kind.sentences:
        yield "\n".join(f"> {sentence}  " for sentence in kind.sentences) + "\n"
    yield " ".join(part for part in (kind.meaning, kind.situation) if part) + "\n"
    if kind.example:
        if kind.name == "syntax":  # a text that does not parse announces nothing
            yield "```text\n" + kind.example.rstrip("\n") + "\n```\n"
        else:
            yield golden(kind.example.rstrip("\n") + f"\n#! error[{kind.name}]: [..]\n#! ...\n")
    for way in kind.ways:
        yield f"{way.text}\n"
        yield golden(way.script.rstrip("\n") + "\n")


def golden(text: str) -> str:
    """Return a script as an example, with the output that its statements have."""
    checked = check_script(Script("example.grad", text), RunOptions(), Tolerance())
    return f"```grad\n{proposed(checked).text}```\n"


def commands_page() -> str:
    """Every command: its usage line, what it does, examples."""
    out = [COMMANDS]
    for name in USAGE:
        record = find(name)
        out.append(f"## {name}\n")
        out.append(f"```text\n{' '.join(filter(None, (name, USAGE[name])))}\n```\n")
        out.append(f"{record.doc} {_paragraph(record.run.__doc__ or '')}\n")
        as_script = name in VARYING
        out += [f"```grad\n{example}\n```\n" if as_script else f"```grad\n{session_of(example)}```\n"
                for example in record.examples]
    return MADE + "\n".join(out)


def _paragraph(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def operations_page() -> str:
    """Every operation: its signatures, its node, what it saves for backward."""
    out = [OPERATIONS]
    for name in operations():
        operation = lookup(name)
        if operation is None or name.startswith("_"):
            continue
        for record in operation.records:
            saves = ", ".join(f"`{one}`" for one in record.plan.names) if record.grads else ""
            cells = (f"`{record.text}`", record.node, saves or ("nothing" if record.grads else ""), record.doc)
            out.append("| " + " | ".join(_paragraph(cell).replace("|", "\\|") for cell in cells) + " |")
    return MADE + "\n".join(out) + "\n"


TITLE = "A gradsh session: a graph, two backward passes, and why the third fails"
WIDTH, LINE, CHARACTER = 104, 17, 7.8
ROLES = ((re.compile(r"^grad> "), "#7dcfff"), (re.compile(r"^error\["), "#f7768e"), (re.compile(r"^\s+\|? *\^"), "#e0af68"),
         (re.compile(r"^\s+(help|note)|^  PyTorch"), "#9ece6a"))


def session_picture() -> str:
    """The README's session, which the tests run, as it looks in a terminal."""
    match = re.search(r"^```grad\n(grad> .*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if match is None:
        raise SystemExit("README.md has no session")
    lines = [piece for line in match[1].splitlines() for piece in _wrapped(line)]
    size = f'width="{int(WIDTH * CHARACTER) + 24}" height="{LINE * len(lines) + 24}"'
    font = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>', f"<title>{TITLE}</title>",
           '<rect width="100%" height="100%" rx="6" fill="#1a1b26"/>']
    for i, line in enumerate(lines):
        colour = next((colour for pattern, colour in ROLES if pattern.search(line)), "#c0caf5")
        out.append(f'<text x="12" y="{LINE * (i + 1) + 8}" fill="{colour}" xml:space="preserve">{escape(line)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def _wrapped(line: str) -> list[str]:
    return [line[start : start + WIDTH] for start in range(0, max(1, len(line)), WIDTH)]


def stale() -> list[str]:
    """Return the documents that no longer say what the records say."""
    return [path.relative_to(ROOT).as_posix() for path, text in pages().items()
            if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    """Write the documents, or check them."""
    if "--check" in sys.argv[1:]:
        old = stale()
        print("\n".join(f"{name} is out of date: run `make docs`" for name in old) or "all documents are up to date")
        return 1 if old else 0
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
