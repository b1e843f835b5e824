"""`explain`: what a kind of error means, an example that produces it, and the ways out as scripts that work."""

from typing import NamedTuple

from gradsh.commands.record import Text, command
from gradsh.contracts.state import State
from gradsh.text.fault import fail
from gradsh.text.forward import FORWARD
from gradsh.text.kind import Kind
from gradsh.text.kinds import KINDS, kinds_for
from gradsh.text.messages import MESSAGES
from gradsh.text.silent import SILENT
from gradsh.view.shapes import Lines, View

WIDTH = 100
EXPLAINED = {**KINDS, **MESSAGES, "silent": SILENT, "forward": FORWARD}
"""The kinds of errors, further messages, mistakes that raise no error, and forward mode."""


_SYNONYMS = {"oom": "limit", "memory": "limit", "out of memory": "limit"}


class Report(NamedTuple):
    """The kinds that are explained in full; none: the list of all is shown."""

    kinds: tuple[Kind, ...]


@command(
    "explain", "Explain a kind of error: what it means, an example, the fixes.",
    examples=["explain freed", "explain Trying to backward through the graph a second time", "explain"],
)
def run(state: State, topic: Text | None = None) -> Report:
    """Takes the name of a kind or a message of PyTorch. Without one: the kind of the last failure."""
    if topic is None or not topic.strip():
        last = state.failed
        return Report((KINDS[last.problem.kind],) if last is not None and last.problem.kind in KINDS else ())
    return Report(lookup(topic.strip()))


def lookup(topic: str) -> tuple[Kind, ...]:
    """Return the kinds that `topic` names or whose sentences it quotes; ValueError (kind `value`) where there is none."""
    topic = _SYNONYMS.get(topic.lower(), topic)
    if topic in EXPLAINED:
        return (EXPLAINED[topic],)
    found = tuple(EXPLAINED[name] for name in kinds_for(topic))
    if found:
        return found
    from difflib import get_close_matches

    near = get_close_matches(topic, EXPLAINED, 1)
    more = f"; did you mean `{near[0]}`?" if near else f"; the kinds are {', '.join(KINDS)}"
    raise fail("value", f"no kind of error is called {topic!r} or has that sentence{more}", ValueError, candidates=near)


def view(report: Report) -> View:
    """Shape the text: the kinds in full, or one line for each."""
    if not report.kinds:
        width = max(map(len, EXPLAINED))
        return Lines((*(f"{kind.name:<{width}}  {kind.summary}" for kind in EXPLAINED.values()),
                      "`explain KIND` shows its meaning, an example and the fixes"))
    return Lines(tuple(line for kind in report.kinds for line in _kind(kind)), WIDTH)


def _kind(kind: Kind) -> list[str]:
    out = [f"{kind.name}: {kind.summary}", ""]
    out += [f"  {sentence}" for sentence in kind.sentences] + [""] * bool(kind.sentences)
    out += [text for text in (kind.meaning, kind.situation) if text]
    if kind.example:
        out += ["", "For example:", *_script(kind.example)]
    for way in kind.ways:
        out += ["", way.text, *_script(way.script)]
    return out


def _script(text: str) -> list[str]:
    return [f"    {line}".rstrip() for line in text.rstrip("\n").split("\n")]
