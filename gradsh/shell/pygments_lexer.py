"""The lexer that pygments finds under the name `grad`: for documents, pages and `pygmentize`, from the same token table."""

from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.token import Comment, Error, Generic, Keyword, Name, Number, Operator, String, Text

from gradsh.commands import USAGE
from gradsh.language.tokens import pieces

KINDS: dict[str, object] = {
    "keyword": Keyword, "name": Name, "number": Number, "operator": Operator, "string": String, "comment": Comment.Single,
    "error": Error,
}


class GradLexer(Lexer):
    """Scripts (`.grad`) and transcripts of gradsh."""

    name = "gradsh"
    aliases: ClassVar[list[str]] = ["grad", "gradsh"]
    filenames: ClassVar[list[str]] = ["*.grad"]
    mimetypes: ClassVar[list[str]] = ["text/x-grad"]
    url = "https://pytorch.org/docs/stable/autograd.html"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, object, str]]:
        """Yield (offset, kind, text) for all of the text."""
        if not text.lstrip().startswith("grad> "):
            yield from _code(text, 0)
            return
        at = 0
        for line in text.splitlines(keepends=True):
            prompt = next((one for one in ("grad> ", "....> ", "grad>", "....>") if line.startswith(one)), "")
            if prompt:
                yield at, Generic.Prompt, prompt
                yield from _code(line[len(prompt) :], at + len(prompt))
            else:
                yield at, Generic.Error if line.startswith("error[") else Generic.Output, line
            at += len(line)


def _code(text: str, offset: int) -> Iterator[tuple[int, Any, str]]:
    at = 0
    for start, end, kind in pieces(text):
        if start > at:
            yield offset + at, Text, text[at:start]
        token = KINDS[kind]
        first = not text[text.rfind("\n", 0, start) + 1 : start].strip()
        if kind == "name" and first and text[start:end] in USAGE and not text[end:].lstrip(" ").startswith(("=", ".", ",", ":", "(", "[")):
            token = Keyword.Pseudo
        yield offset + start, token, text[start:end]
        at = end
    if at < len(text):
        yield offset + at, Text, text[at:]
