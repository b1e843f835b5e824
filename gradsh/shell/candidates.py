"""What may stand at the cursor: names with shape, dtype and grad_fn, attributes, commands, options, values, files."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gradsh.commands import GRAMMARS, USAGE, find
from gradsh.commands.record import WANTED
from gradsh.commands.words import count
from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import every_operation
from gradsh.language.tokens import KEYWORDS
from gradsh.runtime import resolve
from gradsh.shell.context import CursorContext, context
from gradsh.shell.signature import parameters_of
from gradsh.text.glossary import TERMS
from gradsh.text.kinds import KINDS

if TYPE_CHECKING:
    from gradsh.session.session import Session

AUTOGRAD = (
    "grad", "grad_fn", "requires_grad", "is_leaf", "shape", "dtype", "backward", "detach", "item", "retain_grad", "requires_grad_",
    "register_hook", "data",
)
"""Attributes of a tensor that are offered before all others."""
TOPICS = ("help", "explain", "set", "expect", "back", "diff", "release")


class Candidate(NamedTuple):
    """A text that may replace what is typed of a word, how it is listed, and a few words on it, made when they are shown."""

    text: str
    meta: Callable[[], str]
    shown: str = ""


def said(text: str) -> Callable[[], str]:
    """Return the words as a function."""
    return lambda: text


class Candidates:
    """Finds candidates for one session."""

    def __init__(self, session: "Session") -> None:
        self.session = session

    def at(self, text: str, asked: bool = True) -> tuple[str, list[Candidate]]:
        """Return what is typed of the word at the end of `text`, and what it may become.

        Unless a person `asked`, nothing is offered where any name may stand and no letter of it is typed.
        """
        where = context(text, _BoundNames(self.session))
        found = self._found(where, asked)
        return where.word, _matching(where.word, found)

    def _found(self, where: CursorContext, asked: bool) -> Iterable[Candidate]:
        match where.kind:
            case "attribute":
                return self._attributes(where)
            case "key":
                return itertools.chain(self._keys(where), () if where.word or not asked else self._names(where))
            case "option":
                return self._options(where.command)
            case "value" | "argument":
                return self._argument(where, asked)
            case "module" | "member":
                return self._imports(where)
            case "name" if where.word or asked:
                return self._names(where)
            case "name" if where.call is not None:
                return self._keywords(where)
        return ()

    # ------------------------------------------------------------------ names

    def _names(self, where: CursorContext) -> Iterator[Candidate]:
        yield from self._keywords(where)
        yield from self._variables()
        if where.first:
            yield from (Candidate(name, lambda name=name: find(name).doc) for name in USAGE)  # type: ignore[misc]
        yield from self._offered(where.word)
        yield from (Candidate(word, said("")) for word in sorted(KEYWORDS))

    def _variables(self) -> Iterator[Candidate]:
        for name, value in self.session.machine.variables().items():
            yield Candidate(name, lambda value=value: resolve.kind_of(value))  # type: ignore[misc]

    def _tensors(self) -> Iterator[Candidate]:
        variables = self.session.machine.variables()
        return (one for one in self._variables() if isinstance(variables.get(one.text), Tensor))

    def _offered(self, word: str) -> Iterator[Candidate]:
        variables = self.session.machine.variables()
        for name in self.session.machine.offer.bare_names():
            if name not in variables and name[:1].lower() == word[:1].lower():
                yield Candidate(name, lambda name=name: self._meta(name))  # type: ignore[misc]

    def _meta(self, name: str) -> str:
        value = resolve.resolve(self.session.machine, [("name", name)])
        return "" if value is resolve.UNKNOWN else resolve.kind_of(value)

    def _keywords(self, where: CursorContext) -> Iterator[Candidate]:
        """The parameters of the call at the cursor that may be given by name."""
        if where.call is None or where.call.keyword:
            return
        called = resolve.resolve(self.session.machine, where.call.callee)
        positional = where.call.place - len(where.call.given)
        for name, default in parameters_of(called)[positional:]:
            if name not in where.call.given:
                yield Candidate(f"{name}=", said(f"default {default}" if default else "needed"), f"{name}=")

    def _attributes(self, where: CursorContext) -> Iterator[Candidate]:
        owner = resolve.resolve(self.session.machine, where.owner)
        if owner is resolve.UNKNOWN:
            return
        own = set(_more_names(owner))
        for name in sorted({*self.session.machine.guard.names(owner), *own}, key=lambda name: _rank(owner, name, own)):
            yield Candidate(name, lambda name=name: self._attribute_meta(owner, name))  # type: ignore[misc]

    def _keys(self, where: CursorContext) -> Iterator[Candidate]:
        """The keys of a dictionary, in the quotes that are typed."""
        owner = resolve.resolve(self.session.machine, where.owner)
        quote = where.word[:1]
        for key in resolve.keys_of(owner):
            text = repr(key)
            if quote and text[:1] in "'\"" and quote not in text[1:-1]:
                text = f"{quote}{text[1:-1]}{quote}"
            yield Candidate(text, lambda key=key: resolve.kind_of(owner[key]))  # type: ignore[misc]

    def _attribute_meta(self, owner: object, name: str) -> str:
        value = resolve.resolve_attribute(self.session.machine, owner, name)
        return "" if value is resolve.UNKNOWN else resolve.kind_of(value)

    def _imports(self, where: CursorContext) -> Iterator[Candidate]:
        from gradsh.api.torch import NAMESPACES

        imports = self.session.machine.offer.imports
        known: dict[str, Any] = {name: imports.library(name) for name in imports.known() if name != "torch"} | NAMESPACES
        if where.kind == "member":
            if where.path in known:
                yield from (Candidate(name, said("")) for name in known[where.path].names())
            return
        head = f"{where.path}." if where.path else ""
        names = {path.removeprefix(head).partition(".")[0] for path in known if path.startswith(head)}
        yield from (Candidate(name, said("")) for name in sorted(names))

    # ------------------------------------------------------------------ command lines

    def _options(self, command: str) -> Iterator[Candidate]:
        for name, option in GRAMMARS[command].options.items():
            value = "|".join(option.choices) or ("" if option.arity == "flag" else option.metavar)
            yield Candidate(name, said(value), f"--{name}")

    def _argument(self, where: CursorContext, asked: bool) -> Iterable[Candidate]:
        grammar = GRAMMARS[where.command]
        if where.kind == "value":
            option = grammar.options[where.option]
            kind, choices, metavar = option.kind, option.choices, option.metavar
        elif not grammar.positionals:
            return self._names(where._replace(first=True)) if grammar.tail and (where.word or asked) else ()
        else:
            place = grammar.positionals[min(where.place, len(grammar.positionals) - 1)]
            kind, choices, metavar = place.kind, place.choices, place.name
        if kind == "file":
            return _files(where.word)
        if where.kind == "argument" and where.command in TOPICS:
            return self._topics(where)
        if choices or kind == "word":
            return (Candidate(word, said("")) for word in choices)
        if kind == "expr" and not where.word:
            if metavar in WANTED:  # a number or a text
                return ()
            return self._tensors() if not asked else itertools.chain(self._tensors(), self._names(where))
        return self._names(where)

    def _topics(self, where: CursorContext) -> Iterator[Candidate]:
        """What the commands of TOPICS take."""
        kinds = (Candidate(kind.name, said(kind.summary)) for kind in KINDS.values())
        if where.command == "set":
            yield from self._settings(where)
        elif where.command == "explain" or (where.command == "expect" and where.place):
            yield from kinds
        elif where.command == "expect":
            yield Candidate("error", said("the statement must fail"))
        elif where.command == "release":
            yield from (Candidate(pin.name, said(f"pinned on line {pin.line}")) for pin in self.session.state.pins)
        elif where.command in {"back", "diff"}:
            marks: dict[str, int] = self.session.state.extras.get("mark", {})
            yield from (Candidate(name, said(f"after {count(number, 'statement')}")) for name, number in marks.items())
            yield from self._tensors() if where.command == "diff" else ()
        else:
            yield from (Candidate(name, lambda name=name: find(name).doc) for name in USAGE)  # type: ignore[misc]
            yield Candidate("keys", said("the keys of this prompt"))
            yield from (Candidate(term, said(meaning)) for term, meaning in TERMS.items())
            yield from self._variables()
            yield from self._offered(where.word) if where.word else ()
            yield from kinds

    def _settings(self, where: CursorContext) -> Iterator[Candidate]:
        from gradsh.commands.set import choices_of, meanings

        state = self.session.state
        if where.place == 0:
            yield from (Candidate(name, said(meaning)) for name, meaning in meanings(state).items())
            return
        yield from (Candidate(word, said("")) for word in choices_of(state, where.path))


class _BoundNames:
    def __init__(self, session: "Session") -> None:
        self.session = session

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.session.machine.bound(name)


def _more_names(owner: object) -> Iterable[str]:
    """The attributes that no class lists: operations as methods of a tensor, parameters and parts of a module."""
    from gradsh.api.nn.module import Module

    if isinstance(owner, Tensor):
        return (name for name, one in every_operation().items() if "Tensor" in one.spaces and name[0] != "_")
    if isinstance(owner, Module):
        return (name for part in ("_parameters", "_buffers", "_modules") for name in vars(owner)[part] if name.isidentifier())
    return ()


def _rank(owner: object, name: str, own: set[str]) -> tuple[bool, int, str]:
    """Where an attribute stands in the list: what autograd's questions are about first, underscored ones last."""
    if isinstance(owner, Tensor):
        return name[0] == "_", AUTOGRAD.index(name) if name in AUTOGRAD else len(AUTOGRAD), name
    return name[0] == "_", name not in own, name


def _matching(word: str, found: Iterable[Candidate]) -> list[Candidate]:
    """Those that begin with the word, else those that do in other letters' case; each once."""
    known = {one.text: one for one in reversed(list(found))}
    ordered = list(reversed(known.values()))
    exact = [one for one in ordered if one.text.startswith(word)]
    return exact or [one for one in ordered if one.text.lower().startswith(word.lower())]


def _files(word: str) -> Iterator[Candidate]:
    quote = word[:1] if word[:1] in {"'", '"'} else ""
    word = word.strip("\"'")
    head, _, _ = word.rpartition("/")
    folder = Path(head + "/" if head or word.startswith("/") else ".").expanduser()
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") and not word.rpartition("/")[2].startswith("."):
            continue
        slash = "/" if entry.is_dir() else ""
        prefix = f"{head}/" if head or word.startswith("/") else ""
        yield Candidate(f"{quote}{prefix}{entry.name}{slash}", said("folder" if slash else ""), entry.name + slash)
