"""What is typed key by key in a real terminal gives what `gradsh run` gives: every script, block forms three deep."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradsh.commands import GRAMMARS
from gradsh.language.parser import is_complete, parse
from gradsh.text.span import Source
from tests.sweep import SWEEP
from tests.terminal import ROOT, Terminal

MODES = {"editor": ((), {}), "plain": (("--plain",), {}), "dumb": ((), {"TERM": "dumb"})}
WIDE = 240
MARK = "=== "
NO_HISTORY = "/dev/null/none"
"""A folder that cannot be: the history, which is synced at each statement, goes nowhere."""
SCRIPTS = sorted((ROOT / "scripts").glob("*.grad"))
EDITED = [path for path in SCRIPTS if path.stem[:3] in {"s01", "g05", "g14"}]
"""Scripts for the editor, which takes a few milliseconds for a key."""

FORMS = {
    "if": "if True:\n    BODY",
    "elif": "if False:\n    pass\nelif True:\n    BODY\nelse:\n    pass",
    "else": "if False:\n    pass\nelse:\n    BODY",
    "for": "for i in range(2):\n    BODY",
    "for else": "for i in range(2):\n    pass\nelse:\n    BODY",
    "while": "while True:\n    BODY\n    break",
    "while else": "n = 0\nwhile n < 2:\n    n += 1\nelse:\n    BODY",
    "with": "with no_grad():\n    BODY",
    "with items": "with (\n    no_grad(),\n    enable_grad(),\n):\n    BODY",
    "except": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    BODY",
    "finally": "try:\n    BODY\nfinally:\n    print('f')",
    "try": "try:\n    BODY\nexcept ValueError:\n    pass\nexcept (TypeError, KeyError):\n    pass\n"
           "else:\n    print('e')\nfinally:\n    print('f')",
    "def": "def f(a=1, *b):\n    '''Of two\n    lines.'''\n    BODY\n    return a\nf()",
    "decorator": "def d(g):\n    return g\n@d\n@d\ndef f():\n    BODY\nf()",
    "class": "class A:\n    BODY",
    "method": "class A:\n    k = [\n        1,\n    ]\n    def m(self):\n        BODY\n    def n(self): pass\nA().m()",
    "static": "class A:\n    @staticmethod\n    def m():\n        BODY\n    @property\n    def p(self):\n        return 1\nA.m()",
    "generator": "def g():\n    BODY\n    yield 1\nlist(g())",
    "command": "expect error: 1 / 0\nif ones(1):\n    BODY",
}  # fmt: skip


def nested(*names: str) -> str:
    """Return the forms inside one another, with a statement in the innermost."""
    text = "print('here')"
    for name in reversed(names):
        lines = FORMS[name].split("\n")
        at = next(i for i, line in enumerate(lines) if line.strip() == "BODY")
        margin = lines[at].removesuffix("BODY")
        lines[at : at + 1] = [margin + line for line in text.split("\n")]
        text = "\n".join(lines)
    return text


def chains() -> list[tuple[str, ...]]:
    """Return chains of three forms in which every form stands directly in every other one, and in itself."""
    names = list(FORMS)
    missing = set(itertools.product(names, names))
    found = []
    for first, second in itertools.product(names, names):
        if (first, second) in missing:
            third = max(names, key=lambda name: (second, name) in missing)
            missing -= {(first, second), (second, third)}
            found.append((first, second, third))
    assert not missing
    return found


def statements(text: str) -> Iterator[str]:
    """Yield the statements of a script as they can be typed: without the lines between them and those that would end a block."""
    source = Source("", text)
    lines = text.split("\n")
    done = 0
    for statement in parse(source, GRAMMARS).body:
        first, last = statement.span.line, statement.span.end_line
        if first <= done:
            continue  # another one on the same line
        while first - 1 > done and lines[first - 2].startswith("@"):
            first -= 1
        done = last
        kept: list[str] = []
        for line in lines[first - 1 : last]:
            if line.strip() or is_complete("\n".join([*kept, line]), GRAMMARS) is False:
                kept.append(line)
        yield "\n".join(kept)


def story(texts: dict[str, str]) -> list[str]:
    """Return the statements of several scripts, each behind its name and a `reset`."""
    found = []
    for name, text in texts.items():
        options = re.search(r"^#@ .*", text, re.MULTILINE)
        found += ["reset", f"print('{MARK}{name}')", *([options[0]] if options else []), *statements(text)]
    return [statement.replace(" --step", "") for statement in found]  # which asks questions where a person types


def sections(text: str) -> dict[str, str]:
    """Return what each script showed: rows without a prompt."""
    rows = [row for row in text.split("\n") if not row.startswith(("grad>", "....>"))]
    advice = ("  help: ", "ways out", "  - ", "    ")  # which fixes were tried is a matter of time
    rows = [row for row in rows if not row.startswith(advice)]
    parts = "\n".join(rows).split("\n" + MARK)[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2].rstrip() for part in parts}


def typed_and_run(mode: str, texts: dict[str, str], folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return what scripts show when they are typed, and when `gradsh run` runs what was typed."""
    arguments, environment = MODES[mode]
    typed = story(texts)
    (folder / "<shell>").write_text("\n".join(["# hints are off", *typed, "print('')"]))
    with Terminal(*arguments, columns=WIDE, folder=folder, XDG_STATE_HOME=NO_HISTORY, **environment) as terminal:
        terminal.see("grad>")
        terminal.feed("set hints off")  # as it is in `gradsh run`
        for statement in typed:
            terminal.feed(statement)
        terminal.press("quit\r")
        assert terminal.status() == 0
        shown = sections(terminal.text())
    with Terminal("run", "--keep-going", *arguments, "<shell>", columns=WIDE, folder=folder, **environment) as terminal:
        terminal.status()
        return shown, sections(terminal.text())


def test_a_block_waits_for_its_end_however_deep_it_stands() -> None:
    for names in chains():
        for statement in statements(nested(*names)):
            lines = statement.split("\n")
            for count in range(1, len(lines)):
                assert is_complete("\n".join(lines[:count]), GRAMMARS) is False, lines[:count]
            assert is_complete(statement + "\n", GRAMMARS) is True, statement


@pytest.mark.parametrize("mode", MODES)
def test_blocks_in_blocks(mode: str, tmp_path: Path) -> None:
    part = chains() if SWEEP else chains()[list(MODES).index(mode) :: 12 if mode == "editor" else 6]
    texts = {" in ".join(reversed(names)): nested(*names) for names in part}
    shown, expected = typed_and_run(mode, texts, tmp_path)
    assert len(expected) == len(texts)
    assert all("here" in one and "error[syntax]" not in one for one in expected.values())
    assert shown == expected


@pytest.mark.parametrize("mode", MODES)
def test_scripts(mode: str, tmp_path: Path) -> None:
    chosen = SCRIPTS if SWEEP else EDITED if mode == "editor" else SCRIPTS[mode == "dumb" :: 8]
    texts = {path.stem: path.read_text() for path in chosen}
    shown, expected = typed_and_run(mode, texts, tmp_path)
    assert len(expected) == len(texts)
    assert shown == expected
