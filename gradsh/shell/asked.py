"""What a person means by an input that is no statement: `x?`, `help(x)`, `%who`, and a pasted error, which `explain` explains."""

import builtins
import re

from gradsh.commands import GRAMMARS
from gradsh.diagnosis.classify import kind_of
from gradsh.language.parser import is_complete
from gradsh.text.kinds import KINDS, kinds_for

_HELP = re.compile(r"\?{0,2}\s*([^\W\d][\w.]*)\s*\?{1,2}|\?{1,2}\s*([^\W\d][\w.]*)?|help\(\s*([^\W\d][\w.]*)?\s*\)")
_MAGICS = {
    f"%{magic}": command
    for command, magics in {
        "vars": "who whos", "history": "hist history", "load": "load run", "reset": "reset", "save": "save", "explain": "debug",
        "help": "pinfo pinfo2 pdoc pdef psource doc lsmagic magic quickref",
    }.items()
    for magic in magics.split()
}
"""IPython's magics that a command answers."""
_BEGINS = re.compile(r"\s*(-{5,}\n)?(\w+ +)?Traceback \(most recent call last\)")
_ERROR = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Interrupt|Warning|StopIteration))(?:: *(.*(?:\n.*)*))?\Z", re.MULTILINE)
_LAST = re.compile(r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Interrupt|Warning|StopIteration)\b(?! +Traceback)", re.MULTILINE)
_OURS = re.compile(r"\s*error\[(\w+)\]: ")


def asked(text: str) -> str:
    """Return the command that a text stands for, or the text."""
    stripped = text.strip()
    if found := _HELP.fullmatch(stripped):
        return f"help {found[1] or found[2] or found[3] or ''}".rstrip()
    magic, _, rest = stripped.partition(" ")
    if magic in _MAGICS and "\n" not in rest:
        arguments = [word for word in rest.split() if not re.fullmatch("-[a-z]", word)]  # IPython's own flags
        return " ".join([_MAGICS[magic], *arguments])
    if _BEGINS.match(text) or _OURS.match(text) or (" " in stripped and stripped[:1].isalpha() and not _parses(text)):
        topic = _topic(stripped)
        return f"explain {topic}" if topic else text
    return text


def is_unfinished(text: str) -> bool:
    """Whether a text is the beginning of a traceback, which ends with the line that names the error."""
    return bool(_BEGINS.match(text)) and not _LAST.search(text)


def _parses(text: str) -> bool:
    return isinstance(is_complete(text, GRAMMARS), bool)


def _topic(text: str) -> str:
    """The kind of error that a traceback or a sentence tells of, or the sentence; nothing where it tells of none."""
    if ours := _OURS.match(text):
        return ours[1] if ours[1] in KINDS else ""
    last = list(_LAST.finditer(text))
    error = _ERROR.search(text, last[-1].start()) if last else None
    sentence = " ".join((error[2] or "").split()) if error else " ".join(text.split())
    if len(sentence.split()) > 3 and (found := kinds_for(sentence)):
        return found[0]
    raised = getattr(builtins, error[1], None) if error else None
    if isinstance(raised, type) and issubclass(raised, Exception):
        return kind_of(raised(sentence))
    return "other" if error else ""
