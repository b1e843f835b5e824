"""The JSON stream: one object a line for each event. Numbers that JSON lacks are the strings nan, inf, -inf."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from gradsh.contracts.events import ErrorOutput, Event, Failure, Note, Print, Result, Snapshot, Value, Warn
from gradsh.text.line import file_of
from gradsh.text.problem import Problem
from gradsh.text.span import Source


def line_of(event: Event, file: str | None = None) -> str | None:
    """Return the event as one line of JSON without its line end, or None for an event that is not told."""
    data = to_dict(event)
    if data is None:
        return None
    if file is not None:
        data["file"] = file
    return json.dumps(plain(data))


def to_dict(event: Event) -> dict[str, Any] | None:
    """Return the event as product.md has it, or None."""
    match event:
        case Print(text=text):
            return {"event": "print", "text": text}
        case ErrorOutput(text=text):
            return {"event": "stderr", "text": text}
        case Value(line=line, text=text):
            return {"event": "value", "line": line, "text": text}
        case Result(line=line, command=command, report=report):
            return {"event": "result", "line": line, "command": command, "data": report}
        case Warn(line=line, message=message):
            return {"event": "warning", "line": line, "message": message}
        case Note(line=line, text=text):
            return {"event": "note", "line": line, "text": text}
        case Failure(line=line, top=top, problem=problem, source=source, expected=expected):
            data = {"event": "error", "line": line, "top": top, **_problem(problem, source)}
            return {**data, "expected": True} if expected else data
        case Snapshot(tensors=tensors, buffers=buffers):
            return {"event": "state", "tensors": tensors, "buffers": buffers}
        case _:
            return None


def _problem(problem: Problem, source: Source) -> dict[str, object]:
    spans = []
    for label in problem.labels:
        span = {"role": label.role, **label.span._asdict(), "text": label.text}
        if label.source is not None and label.source is not source and label.source.name != source.name:
            span["source"] = label.source.name
        spans.append(span)
    data: dict[str, Any] = {"kind": problem.kind, "message": problem.message, "spans": spans,
                            "help": list(problem.help)}
    if problem.offered:
        data["fixes"] = [
            {"words": fix.words, "edits": [edit._asdict() for edit in fix.edits], "effect": fix.effect, "tried": fix.tried}
            for fix in problem.offered
        ]
    if problem.title:
        data["title"] = problem.title
    if problem.notes:
        data["notes"] = list(problem.notes)
    return data


def plain(value: object) -> Any:
    """Return a report's value as JSON has it: records become objects, arrays lists, what is left its text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    if isinstance(value, Mapping):
        return _object(value)
    names = getattr(type(value), "_fields", None) or getattr(type(value), "__dataclass_fields__", None)
    if names is not None:
        return _object({name: getattr(value, name) for name in names})
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)


def _object(fields: Mapping[object, object]) -> dict[str, object]:
    """Return fields as an object; beside one that holds lines of other texts, `NAME_of` names these texts."""
    out: dict[str, Any] = {}
    for name, value in fields.items():
        out[str(name)] = plain(value)
        of = _texts_of(value)
        if of:
            out[f"{name}_of"] = of
    return out


def _texts_of(value: Any) -> str | list[str]:
    """Return the text that a line is of, or those of the lines in a list or in its pairs; nothing where there is none."""
    if type(value) not in {list, tuple} or not value or not isinstance(value[0], int | tuple):
        return file_of(value)
    found = [next(filter(None, map(file_of, one)), "") if type(one) is tuple else file_of(one) for one in value]
    return found if any(found) else []
