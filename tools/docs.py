"""Writes the generated documents: reference pages from the records, the README's session as a picture, the
tutorial as a notebook.

Sessions in the other documents are refreshed: a turn that no longer shows what it says is shown anew. `python -m
tools.docs` (or `make docs`) writes; with `--check` it only says what is out of date, with exit status 1.
"""

import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from gradsh.commands import USAGE, find
from gradsh.contracts.events import Event, Failure, Result
from gradsh.engine.registry import lookup, operations
from gradsh.engine.schema.overload import Overload
from gradsh.golden.check import check_script
from gradsh.golden.compare import Tolerance
from gradsh.golden.update import proposed
from gradsh.render.pictures import picture as picture_of
from gradsh.run.read import Script
from gradsh.run.script import RunOptions
from gradsh.session.session import Session
from gradsh.text.kind import Kind
from gradsh.text.kinds import KINDS
from gradsh.text.messages import MESSAGES
from gradsh.text.silent import SILENT
from tools.derivatives import derivatives_page
from tools.families import FAMILIES, families_page
from tools.glossary import glossary_page
from tools.grammar import grammar_files
from tools.howto import howto_pages
from tools.language import EXAMPLE, language_page
from tools.notebook import notebook_of
from tools.picture import session_picture
from tools.reference import api_page, cli_page
from tools.sessions import CLOSING, OPENING, refreshed, session_of

ROOT = Path(__file__).parents[1]
VARYING = frozenset({"explain", "help", "time"})  # what they show is another thing each time, or elsewhere in full
IN_SHELL = frozenset({"set", "tour"})  # what they show is the shell's: its limits, prompts of its own
MADE = "<!-- Written by tools/docs.py from the records; change those, then run `make docs`. -->\n\n"

ERRORS = """# Kinds of errors

The names of the kinds are stable: scripts, golden tests and JSON use them. In the shell, `explain KIND` prints the same text, and
`explain` with a message of PyTorch finds the kind. The [how-to pages](../how-to/index.md) have an example for each message.
"""
COMMANDS = """# Commands

The name of a command starts a command wherever a statement is allowed, unless the program has a variable of that name. Every command
takes `--format text|json` (`graph` also `dot`, `svg`, `png` and `mermaid`, `memory` `svg` and `png`). A typed command also takes
`--output FILE`; the ending of the name selects the format.
"""
SCENARIOS = """# Scenarios

Situations that PyTorch users meet, each as a script with its output. `gradsh FILE` runs one, `gradsh test scripts` compares all of
them with their expected outputs.

| script | what happens |
| --- | --- |
"""
OPERATIONS = """# Operations

An operation saves for backward the tensors that its derivatives need. An input that only the derivative of another input needs is saved
only if that other input requires grad. An operation without a node is made of other operations, or has no derivative. The prefix `F.`
marks operations of `torch.nn.functional`. [derivatives.md](../derivatives.md) lists the formulas.

| operation | node | saves | what it computes |
| --- | --- | --- | --- |"""


def pages() -> dict[Path, str]:
    """Return every generated or refreshed document, and the index of the operations: path -> text."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    shown = {path: refreshed(path.read_text(encoding="utf-8"), path.name) for path in written}
    return {
        **shown,
        ROOT / "docs/tutorial.ipynb": notebook_of(shown[ROOT / "docs/tutorial.md"]),
        ROOT / "docs/reference/language.md": MADE + language_page(golden(EXAMPLE)),
        ROOT / "docs/reference/errors.md": errors_page(),
        ROOT / "docs/reference/commands.md": commands_page(),
        ROOT / "docs/reference/operations.md": operations_page(),
        ROOT / "docs/reference/scenarios.md": scenarios_page(),
        ROOT / "docs/reference/cli.md": MADE + cli_page(),
        ROOT / "docs/reference/api.md": MADE + api_page(),
        ROOT / "docs/glossary.md": MADE + glossary_page(),
        **{ROOT / "docs/how-to" / name: MADE + page for name, page in howto_pages(golden)},
        ROOT / "docs/derivatives.md": MADE + derivatives_page(),
        ROOT / "docs/session.svg": picture(),
        ROOT / "docs/graph.svg": network(),
        FAMILIES: families_page(),
        **grammar_files(),
    }


def errors_page() -> str:
    """Every kind of error: what it means, an example, the ways out. The examples are golden tests."""
    out = [ERRORS]
    for kind in (*KINDS.values(), *MESSAGES.values(), SILENT):
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
            announced = "".join(f"#! error[{raised}]: [..]\n#! ...\n" for raised in _raised_by(kind.example)[:1])
            yield golden(kind.example.rstrip("\n") + "\n" + announced)
    for way in kind.ways:
        yield f"{way.text}\n"
        yield golden(way.script.rstrip("\n") + "\n")


def _raised_by(text: str) -> list[str]:
    """Return the kinds of the failures of a script."""
    kinds: list[str] = []
    Session().run(text, lambda event: kinds.append(event.problem.kind) if isinstance(event, Failure) else None)
    return kinds


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
        opening = "```grad of the shell\n" if name in IN_SHELL else OPENING
        out += [f"{OPENING}{example}\n{CLOSING}" if as_script else session_of(example).replace(OPENING, opening)
                for example in record.examples]
    return MADE + "\n".join(out)


def _paragraph(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def operations_page() -> str:
    """Every operation: its signatures, its node, what it saves for backward."""
    out = [OPERATIONS]
    listed = [name for name in operations() if name[0] != "_" and not name.startswith("torch_")]  # these are forms of others
    records = {name: found.records for name in listed if (found := lookup(name)) is not None}
    aliases: dict[str, list[str]] = {}
    for name, mine in records.items():
        if name != (own := _own_name(mine[0].text)):
            aliases.setdefault(own, []).append(name)
    for name, mine in records.items():
        if name == _own_name(mine[0].text):
            others = ", ".join(f"`{alias}`" for alias in aliases.get(name, ()))
            out += [_operation(record, others) for record in mine]
    return MADE + "\n".join(out) + "\n"


def _own_name(signature: str) -> str:
    return signature.partition("(")[0]


def _operation(record: Overload, others: str) -> str:
    """The row of a record; `others` are the names that it also goes by."""
    signature = re.sub(r"^(F|Tensor)_", r"\1.", record.text)
    saves = ", ".join(f"`{one}`" for one in record.plan.names) if record.grads else ""
    about = f"{record.doc} Also {others}." if others else record.doc
    cells = (f"`{signature}`", record.node, saves or ("nothing" if record.grads else ""), about)
    return "| " + " | ".join(_paragraph(cell).replace("|", "\\|") for cell in cells) + " |"


def scenarios_page() -> str:
    """Every script in `scripts/` with the sentences at its top."""
    out = []
    for path in sorted((ROOT / "scripts").glob("*.grad")):
        lines = path.read_text(encoding="utf-8").splitlines()
        top = itertools.takewhile(lambda line: line.startswith("# "), itertools.dropwhile(lambda line: line[:2] in {"#!", "#@"}, lines))
        out.append(f"| [{path.stem}](../../scripts/{path.name}) | {' '.join(line[2:] for line in top)} |\n")
    return MADE + SCENARIOS + "".join(out)


TITLE = "A gradsh session: a graph, two backwards, and why the third fails"


def picture() -> str:
    """The README's session as it looks in a terminal."""
    match = re.search(r"^```grad\n(grad> .*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if match is None:
        raise SystemExit("README.md has no session")
    return session_picture(match[1], TITLE)


def network() -> str:
    """The graph of a small network, as `docs/autograd.md` shows it."""
    session, shown = Session(), list[Event]()
    session.run("net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))\nloss = net(ones(4, 2)).pow(2).mean()\n"
                "graph loss --format svg", shown.append)
    return next(str(picture_of(event.view(), "svg")) for event in shown if isinstance(event, Result))


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
