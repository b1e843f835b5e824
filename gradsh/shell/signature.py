"""The signature of a call at the cursor, and what the operation there saves for backward."""

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from gradsh.engine.dispatch.operation import BoundOperation, Operation
from gradsh.engine.registry import lookup
from gradsh.engine.schema.signature import REQUIRED
from gradsh.language.tokens import pieces
from gradsh.runtime.resolve import UNKNOWN, resolve
from gradsh.shell.context import CallContext, chain, context
from gradsh.shell.context import Token as _Token

if TYPE_CHECKING:
    from gradsh.session.session import Session

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "@": "mm", "**": "pow"}


class ShownSignature(NamedTuple):
    """A signature in three stretches, the middle one being the parameter at the cursor; and what is saved."""

    before: str
    here: str = ""
    after: str = ""
    saves: str = ""


def parameters_of(called: Any) -> list[tuple[str, str]]:
    """Return (name, default) of the parameters that a call may name; an empty default for one that is needed."""
    if called is UNKNOWN:
        return []
    bound = isinstance(called, BoundOperation)
    operation = called.operation if bound else called
    if not isinstance(operation, Operation):
        return [(one.name, "" if one.default is one.empty else repr(one.default)) for one in _python(called)
                if one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD, one.POSITIONAL_ONLY}]
    found: dict[str, str] = {}
    for record in operation.records:
        for param in record.signature.params[bound:]:
            found.setdefault(param.name, _default(param))
    return list(found.items())


def _default(param: Any) -> str:
    return "" if param.default is REQUIRED else repr(param.default)


def _python(called: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return []


def shown_for(session: "Session", before: str, after: str) -> ShownSignature | None:
    """Return what to show for a text with the cursor between its two parts; None where it is in no call."""
    at = context(before, session.machine.program)
    under = None if at.command else _under(session, before, after)
    call = at.call
    called = resolve(session.machine, call.callee) if call is not None else UNKNOWN
    if call is None or called is UNKNOWN:
        return ShownSignature(under[0], saves=under[1]) if under else None
    shown = _signature(call, called)
    if shown is not None and under:
        shown = shown._replace(saves=under[1])
    return shown


def _signature(call: CallContext, called: Any) -> ShownSignature | None:
    name = call.callee[-1][1] if call.callee else ""
    bound = isinstance(called, BoundOperation)
    operation = called.operation if bound else called
    if not isinstance(operation, Operation):
        parameters = _python(called)
        if not parameters:
            return None
        texts = [(one.name, str(one)) for one in parameters]
        return _marked(name, texts, call)
    record = _overload(operation, call, bound)
    params = record.signature.params[bound:]
    texts = [(param.name, _param_text(param)) for param in params if not param.keyword_only]
    named = [(param.name, _param_text(param)) for param in params if param.keyword_only]
    texts += [("*", "*"), *named] if named else []
    return _marked(name, texts, call)._replace(saves=saves_of(operation))


def _param_text(param: Any) -> str:
    default = _default(param)
    return f"{param.name}={default}" if default else str(param.name)


def _overload(operation: Any, call: CallContext, bound: bool) -> Any:
    """The first overload with room for the arguments that are there and the keywords that are given."""
    for record in operation.records:
        params = record.signature.params[bound:]
        names = {param.name for param in params}
        room = sum(not param.keyword_only for param in params)
        if (room > call.place or (call.keyword and room >= call.place)) and all(name in names for name in call.given):
            return record
    return operation.records[0]


def _marked(name: str, texts: list[tuple[str, str]], call: CallContext) -> ShownSignature:
    at = next((i for i, (one, _) in enumerate(texts) if one == call.keyword), call.place)
    before = "".join(f"{text}, " for _, text in texts[:at])
    here = texts[at][1] if at < len(texts) else ""
    after = "".join(f", {text}" for _, text in texts[at + 1 :])
    if not here and before:
        before = before[:-2]
    return ShownSignature(f"{name}({before}", here, f"{after})")


def clipped(shown: ShownSignature, width: int) -> ShownSignature:
    """Return a signature that fits a width: the parameter at the cursor stays, its neighbours as far as there is room."""
    before, here, after, saves = shown
    if len(before) + len(here) + len(after) > width:
        name, opening, earlier = before.partition("(")
        here = here[: max(0, width - len(name) - 2)]
        room = max(0, width - len(name) - 1 - len(here))
        behind = min(len(after), max(room - len(earlier), room // 3))
        before = f"{name}{opening}{_end(earlier, room - behind)}"
        after = after if len(after) <= behind else after[: max(0, behind - 1)] + "…" * bool(behind)
    left = width - len(before) - len(here) - len(after) - 2
    return ShownSignature(before, here, after, saves if len(saves) <= left else saves[: left - 1] + "…" if left > 8 else "")


def _end(text: str, room: int) -> str:
    return text if len(text) <= room else ("…" + text[len(text) - room + 1 :] if room > 1 else "")


def saves_of(operation: Any) -> str:
    """Return what an operation saves for backward, with its node; empty where it has no derivative of its own."""
    told: dict[str, str] = {}
    for record in operation.records:
        if record.grads and record.node:
            told.setdefault(record.node, ", ".join(record.plan.names) or "nothing")
    if len(set(told.values())) == 1:
        return f"saves {next(iter(told.values()))}"
    return "; ".join(f"{node} saves {names}" for node, names in list(told.items())[:2])


def _under(session: "Session", before: str, after: str) -> tuple[str, str] | None:
    """The name and the saved tensors of the operation that the cursor touches: a name, a method or an operator."""
    line = before.rpartition("\n")[2]
    column = len(line)
    text = line + after.partition("\n")[0]
    tokens = [_Token(start, end, kind, text[start:end]) for start, end, kind in pieces(text)]
    for index, token in enumerate(tokens):
        if not token.start <= column <= token.end:
            continue
        found: Any = UNKNOWN
        if token.text in OPERATORS:
            found = lookup(OPERATORS[token.text])
        elif token.kind == "name":
            found = resolve(session.machine, chain(tokens, index))
        if isinstance(found, BoundOperation):
            found = found.operation
        if isinstance(found, Operation) and (saves := saves_of(found)):
            return found.name, saves
    return None
