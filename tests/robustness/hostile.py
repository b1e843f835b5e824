"""Texts that nobody should give to gradsh: mutated real scripts, tokens shaken together, Python that the language refuses.

Every generator draws from one object with the methods of `random.Random`, so that hypothesis (`st.randoms()`), a seeded
run of thousands and the harnesses in `fuzz/` share them.
"""

from ast import literal_eval
from functools import lru_cache
from pathlib import Path
from random import Random

from gradsh.commands import USAGE

ROOT = Path(__file__).resolve().parents[2]
BEFORE = (
    "", "x = ones(2, requires_grad=True)\ny = x * 2\n",
    "import numpy as np\nnet = nn.Linear(2, 2)\nx = ones(1, 2)\ny = net(x).sum()\n",
)


@lru_cache(maxsize=1)
def words() -> dict[str, tuple[str, ...]]:
    """Return the sections of `hostile_words.txt`: the pieces that texts are made of."""
    text = Path(__file__).with_name("hostile_words.txt").read_text(encoding="utf-8")
    sections = (section.split("\n") for section in text.split("\n== ")[1:])
    return {lines[0]: tuple(literal_eval(line) for line in lines[1:] if line) for lines in sections}


@lru_cache(maxsize=1)
def corpus() -> tuple[str, ...]:
    """Return the real scripts: scenarios, recorded situations, programs of the twin tests, blocks of the documents."""
    files = [*ROOT.glob("scripts/*.grad"), *ROOT.glob("tests/oracle/real/*.py"), *ROOT.glob("tests/parity/snippets/*.py")]
    texts = [file.read_text(encoding="utf-8") for file in sorted(files)]
    for page in sorted(ROOT.glob("docs/*.md")):
        texts += page.read_text(encoding="utf-8").split("```")[1::2]
    return tuple(texts)


@lru_cache(maxsize=1)
def goldens() -> tuple[str, ...]:
    """Return short scripts with expectations."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("scripts/*.grad"))]
    return tuple(text for text in texts if len(text) < 5000)


class Hostile:
    """Makes hostile texts out of what a source of random numbers draws."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def program(self) -> str:
        """Return the text of a script, or of what somebody takes for one."""
        kind = self.random.randrange(10)
        if kind < 3:
            return self.mutated(self.piece_of_corpus())
        if kind < 7:
            return self.statements()
        if kind == 7:
            return self.shaken()
        if kind == 8:
            return self.mutated("\n".join(self.random.choice(words()["REFUSED"]) for _ in range(self.random.randint(1, 3))))
        return self.deep()

    def raw(self) -> str:
        """Return any characters, most of them such as programs have."""
        count = self.random.randint(0, 60)
        return "".join(chr(self.random.choice((self.random.randrange(128), self.random.randrange(128), self.random.randrange(0x3000),
                                               self.random.randrange(0x110000)))) for _ in range(count))  # fmt: skip

    def pasted(self) -> str:
        """Return what somebody copied out of a session, a notebook or a page: prompts, outputs, indentation, typography."""
        prompts = words()["PROMPTS"]
        lines = self.program().split("\n")[:40]
        text = "\n".join(self.random.choice(prompts) + line if self.random.random() < 0.7 else line for line in lines)
        for _ in range(self.random.randint(0, 6)):
            text = self.random.choice((self._strange, self._insert, self._ends, self._line))(text)
        return text

    def data(self, depth: int = 4) -> object:
        """Return data such as JSON holds, or nearly."""
        random = self.random
        kind = random.randrange(10)
        if depth and kind < 4:
            return [self.data(depth - 1) for _ in range(random.randrange(7))]
        if depth and kind == 4:
            return {random.choice(words()["NAMES"]): self.data(depth - 1) for _ in range(random.randrange(4))}
        numbers = 0, 1, -1, 2, 10**9, 10**25, True, None, 0.5, float("nan"), float("inf")
        return random.choice((*numbers, "", "x", "1", "1e5", "\ud800", "\x1b[2J", "\0", "a\nb", [], {}, [[]], *words()["STRANGE"]))

    def answer(self) -> object:
        """Return what a script's process may send: an answer of the right shape with some of it replaced, or anything."""
        random = self.random

        def maybe(value: object) -> object:
            return self.data(2) if random.random() < 0.08 else value

        def lines() -> object:
            return maybe([maybe(random.choice(words()["EXPECTATIONS"])) for _ in range(random.randrange(3))])

        ran = [maybe([maybe(line), maybe(line + 1), lines(), lines(), maybe(True)]) for line in range(random.randrange(5))]
        played = [maybe(ran), lines(), maybe(1), maybe([maybe([maybe(1), maybe(2)])]), False, maybe(0.5)]
        done = [maybe(0), maybe("out\n"), maybe("err"), maybe(False)]
        return random.choice((
            {"answer": maybe(played), "modules": maybe(["gradsh.version", maybe("os")])}, {"answer": maybe(done), "modules": maybe([])},
            {"line": maybe(1), "reason": maybe("the time")}, self.data(),
        ))

    def golden(self) -> str:
        """Return a script whose expectations are cut, moved, mismarked or nonsense."""
        text = self.random.choice(goldens()) if self.random.random() < 0.7 else self.program()
        lines = text.split("\n")
        first = self.random.randrange(len(lines))
        lines = lines[first : first + 25]
        for _ in range(self.random.randint(0, 5)):
            lines.insert(self.random.randint(0, len(lines)), self.random.choice(words()["EXPECTATIONS"]))
        return self.mutated("\n".join(lines))

    def command_line(self) -> str:
        """Return a command with arguments and options that fit, or do not."""
        random = self.random
        parts = [random.choice(tuple(USAGE))]
        for _ in range(random.randint(0, 5)):
            kind = random.randrange(8)
            if kind == 0:
                parts.append("--" + random.choice(words()["OPTIONS"]))
            elif kind == 1:
                parts.append(random.choice(words()["TOKENS"]))
            elif kind == 2:
                parts.append(random.choice(words()["NAMES"]))
            elif kind == 3:
                parts.append(random.choice(words()["STRANGE"]) * random.choice((1, 3)))
            else:
                parts.append(random.choice(words()["EXPRESSIONS"]))
        line = random.choice((" ", " ", "  ", "", "\t")).join(parts)
        return self.mutated(line) if random.random() < 0.3 else line

    def commands(self) -> str:
        """Return a small graph and several commands about it."""
        return self.random.choice(BEFORE) + "\n".join(self.command_line() for _ in range(self.random.randint(1, 4)))

    def arguments(self) -> list[str]:
        """Return the arguments of a process: options with values that fit, or do not."""
        random = self.random
        found = [random.choice(("run", "test", "check", "explain", "run", "test", "--version", "--help", "-c", "nonsense", ""))]
        for _ in range(random.randint(0, 5)):
            option = random.choice(words()["ARGUMENTS"])
            value = random.choice((*words()["NAMES"], *words()["VALUES"], *words()["STRANGE"]))
            found += [[option], [option, value], [f"{option}={value}"], [value]][random.randrange(4)]
        return [one.replace("\x00", "").encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") if one.isascii() else
                one.replace("\x00", "") for one in found]

    def toml(self) -> str:
        """Return what somebody takes for a `config.toml`."""
        random = self.random
        keys, values = words()["SETTINGS"], words()["TOML"]
        return self.mutated("".join(f"{random.choice(keys)} = {random.choice(values)}\n" for _ in range(random.randint(0, 6))))

    def history(self) -> bytes:
        """Return the bytes of a history file that was cut off, mixed up, or is none."""
        pieces = (b"+x = 1\n", b"\n#\n", b'# failed "x = 1"\n', b"# failed {\n", b"# failed [1]\n", b"+", b"\xff\xfe", b"\x00", b"#\n",
                  b"# failed " + b"[" * 5000 + b"\n", b"\r\n", b"+if x:\n+  y\n", b"# failed 1e999\n", "é\u2028".encode())
        return b"".join(self.random.choice(pieces) for _ in range(self.random.randint(0, 30)))

    # ------------------------------------------------------------------ from real scripts

    def piece_of_corpus(self) -> str:
        """Return the beginning of a real script, or some lines of it."""
        lines = self.random.choice(corpus()).split("\n")
        first = 0 if self.random.random() < 0.6 else self.random.randrange(len(lines))
        return "\n".join(lines[first : first + self.random.randint(1, 30)])

    def mutated(self, text: str) -> str:
        """Return a text with a few edits."""
        edits = (
            self._delete, self._double, self._swap, self._insert, self._strange, self._line, self._indent, self._cut, self._token,
            self._ends,
        )
        for _ in range(self.random.randint(0, 4)):
            text = self.random.choice(edits)(text)
        return text

    def _place(self, text: str) -> int:
        return self.random.randint(0, len(text))

    def _delete(self, text: str) -> str:
        at = self._place(text)
        return text[:at] + text[at + self.random.choice((1, 1, 2, 5, 20)) :]

    def _double(self, text: str) -> str:
        at = self._place(text)
        piece = text[at : at + self.random.choice((1, 3, 10, 80))]
        return text[:at] + piece * self.random.choice((2, 3, 50)) + text[at:]

    def _swap(self, text: str) -> str:
        at, by = self._place(text), self.random.choice((1, 2, 8))
        return text[:at] + text[at + by : at + 2 * by] + text[at : at + by] + text[at + 2 * by :]

    def _insert(self, text: str) -> str:
        at = self._place(text)
        return text[:at] + self.random.choice((*words()["TOKENS"], *words()["BLANKS"])) + text[at:]

    def _strange(self, text: str) -> str:
        at = self._place(text)
        return text[:at] + self.random.choice(words()["STRANGE"]) + text[at:]

    def _line(self, text: str) -> str:
        lines = text.split("\n")
        one, other = self.random.randrange(len(lines)), self.random.randrange(len(lines))
        what = self.random.randrange(4)
        if what == 0:
            del lines[one]
        elif what == 1:
            lines.insert(other, lines[one])
        elif what == 2:
            lines[one], lines[other] = lines[other], lines[one]
        else:
            lines.insert(one, self.random.choice(words()["REFUSED"]))
        return "\n".join(lines)

    def _indent(self, text: str) -> str:
        lines = text.split("\n")
        at = self.random.randrange(len(lines))
        lines[at] = self.random.choice(("", " ", "\t", "    ", "  \t", "\f", "\xa0 ")) + lines[at].lstrip()
        return "\n".join(lines)

    def _cut(self, text: str) -> str:
        return text[: self._place(text)] if self.random.random() < 0.7 else text[self._place(text) :]

    def _token(self, text: str) -> str:
        parts = text.split(" ")
        parts[self.random.randrange(len(parts))] = self.random.choice(words()["TOKENS"])
        return " ".join(parts)

    def _ends(self, text: str) -> str:
        return text.replace("\n", self.random.choice(("\r\n", "\r", "\n\n", "\f\n", " \\\n", "\u2028", ";")))

    # ------------------------------------------------------------------ from nothing

    def shaken(self) -> str:
        """Return tokens in no order."""
        count = self.random.randint(1, 25)
        blanks = words()["BLANKS"] if self.random.random() < 0.3 else (" ", "", " ", "\n")
        return "".join(self.random.choice(words()["TOKENS"]) + self.random.choice(blanks) for _ in range(count))

    def deep(self) -> str:
        """Return what nests, or is long, without end."""
        piece, count = self.random.choice(words()["DEEP"]), self.random.choice((3, 50, 101, 201, 1500, 20_000))
        text = self.random.choice(("", "x = ", "f(", "for i in x: ")) + piece * count + self.random.choice(("", "x", "1", "pass"))
        closing = {"(": ")", "[": "]", "{": "}", "f(": ")", "x[": "]", "print(": ")", "str(": ")"}.get(piece, "")
        return text + closing * self.random.choice((0, count, count - 1, count + 1))

    def statements(self) -> str:
        """Return statements that parse, mostly, and make little sense."""
        before = self.random.choice(BEFORE)
        return before + "\n".join(self.statement(2) for _ in range(self.random.randint(1, 6)))

    def statement(self, depth: int) -> str:
        """Return one statement; at most `depth` others stand in each other."""
        text = self.random.choice(words()["STATEMENTS"])
        pick = self.random.choice
        choices = {
            "{e}": lambda: pick(words()["EXPRESSIONS"]), "{o}": lambda: pick(words()["OPERATORS"]),
            "{c}": lambda: pick(words()["COMPARISONS"]), "{m}": lambda: pick(words()["METHODS"]),
            "{d}": lambda: pick(words()["SPECIALS"]), "{t}": lambda: pick(words()["FORMATS"]),
            "{s}": lambda: self.statement(depth - 1).replace("\n", "; ") if depth else "pass",
        }
        parts: list[str] = []
        at = 0
        while at < len(text):
            piece = text[at : at + 3]
            if piece in choices:
                parts.append(choices[piece]())
                at += 3
            else:
                parts.append(text[at])
                at += 1
        return "".join(parts).replace("{{", "{").replace("}}", "}") if "{{" in text else "".join(parts)
