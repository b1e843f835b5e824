"""Every way to call every operation, from the records' own samples, and what each call gives; run in processes of their own.

    python -m tests.engine.call_forms general|library|script ROUNDS

A form is a line of text such as `torch.flip(a0, dims=a1)`, and the values of its names. `general` runs each once in a process
that writes no fast path; `library` runs all of them ROUNDS times, in another order each time, in a Python program;
`script` does the same in a session of gradsh. All print the same JSON: each form, and the different things that it gave.
"""

import hashlib
import json
import random
import sys
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.sweep import SWEEP

PLACES = {"torch": "torch.", "F": "torch.nn.functional.", "linalg": "torch.linalg.", "special": "torch.special."}


class Form:
    """A call as text, and the arrays and other values that its names stand for."""

    def __init__(self, callee: str, names: list[str], words: dict[str, str], values: dict[str, Any]) -> None:
        self.text = f"{callee}({', '.join([*names, *(f'{word}={name}' for word, name in words.items())])})"
        self.values = values

    def given(self, make: Any) -> dict[str, Any]:
        """The names' values, tensors made anew."""

        def fresh(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return make(value)
            return [fresh(one) for one in value] if isinstance(value, list) else value

        return {name: fresh(value) for name, value in self.values.items()}


def forms(every: int = 1) -> Iterator[Form]:
    """Every way to call every operation (or each `every`-th) that has a sample."""
    from gradsh.engine.registry import every_operation

    for name, operation in sorted(every_operation().items())[::every]:
        for number, record in enumerate(operation.records):
            for inputs, options, _ in record.samples[:1] if operation.name == record.name else ():
                rng = np.random.default_rng(zlib.crc32(f"{name}{number}".encode()))
                values = [_value(spec, param, rng) for spec, param in zip(inputs, _params(record), strict=False)]
                yield from _forms_of(name, operation, record, values, options)


def _params(record: Any) -> list[Any]:
    params = list(record.signature.params)
    return params + params[-1:] * 8 if record.signature.variadic else params


def _value(spec: Any, param: Any, rng: Any) -> Any:
    from tests.ops.test_registry import data

    if param.type not in {"Tensor", "Operand", "Tensors", "Indices"}:
        return spec
    if isinstance(spec, list):
        return [_value(one, param, rng) for one in spec]
    found = data(spec, rng)
    return spec if found is None else found


def _forms_of(name: str, operation: Any, record: Any, values: list[Any], options: dict[str, Any]) -> Iterator[Form]:
    params, keywords = record.signature.params, record.signature.keywords
    held = {f"a{place}": value for place, value in enumerate(values)} | {f"k_{word}": value for word, value in options.items()}
    names, words = [f"a{place}" for place in range(len(values))], {word: f"k_{word}" for word in options}
    if names and name.endswith("_"):
        names[0] = "a0.clone()"  # a leaf may not be written
    spread = len(values) > len(params) or (record.signature.variadic and len(values) == record.signature.positional
                                           and not isinstance(values[-1], (list, tuple)))
    callees = [place + name.removeprefix(f"{space}_") for space, place in PLACES.items() if space in operation.spaces]
    method = "Tensor" in operation.spaces and isinstance(values[0] if values else None, np.ndarray)
    if method:
        callees.append(f"{names[0]}.{name.removeprefix('Tensor_')}")
    for callee in callees:
        first = int(callee.startswith("a0"))
        least = len(values) if spread else first
        for place in range(len(values), least - 1, -1):
            named = {_spelt(record, at): names[at] for at in range(place, len(values))}
            yield Form(callee, names[first:place], {**named, **words}, held)
        for word, at in keywords.items():
            if first <= at < len(values) and not spread and word != _spelt(record, at):
                named = {_spelt(record, other): names[other] for other in range(at + 1, len(values))}
                yield Form(callee, names[first:at], {word: names[at], **named, **words}, held)
    if values and callees and not callees[0].startswith("a0"):
        yield Form(callees[0], names, {**words, "out": "o"}, {**held, "o": np.zeros(0)})
        yield Form(callees[0], [], {"nothing": "a0"}, held)
    if method:
        yield Form(callees[-1], names[1:], {**words, "nothing": "a0"}, held)


def _spelt(record: Any, place: int) -> str:
    """The first spelling of a parameter's name."""
    return next(word for word, at in record.signature.keywords.items() if at == place)


def digest(result: Any, given: dict[str, Any]) -> Any:
    """What a call gave, and the inputs after it, in few letters: values, graph, saved sets, gradients."""
    found = [_described(result), [_described(value) for value in given.values()]]
    from gradsh.engine.autograd.backward import grad
    from gradsh.engine.graph.tensor import Tensor, make
    from tests.engine.reference_pass import gradients

    outputs = [one for one in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(one, Tensor) and one.requires_grad]
    leaves = [one for one in given.values() if isinstance(one, Tensor) and one.requires_grad and one.is_leaf]
    if outputs and leaves:
        try:
            ones = [np.ones_like(one.array) for one in outputs]
            expected = gradients(outputs, ones, leaves)
            got = grad(outputs, leaves, [make(one) for one in ones], allow_unused=True)
        except (RuntimeError, NotImplementedError) as error:
            return [*found, str(error)]
        found.append(_described(got))
        for one, other in zip(got, expected, strict=True):
            assert (one is None) is (other is None)
            if one is not None:
                np.testing.assert_array_equal(one.array, other)
    return found


def _described(value: Any) -> Any:
    from gradsh.engine.graph.tensor import Tensor

    if isinstance(value, (tuple, list)):
        return [type(value).__name__, [_described(one) for one in value]]
    if not isinstance(value, Tensor):
        return repr(value)
    content = hashlib.md5(np.ascontiguousarray(value.array).tobytes()).hexdigest()[:8]
    lies = [list(value.shape), list(value.array.strides)]
    return [str(value.dtype), lies, content, value.requires_grad, value._version, _graph(value.grad_fn)]


def _graph(root: Any) -> Any:
    shown, seen, stack = [], {}, [root]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen[node] = len(seen)
        saved = [(one.name, list(one.shape), str(one.dtype)) for one in node.saved]
        following = [one for one, _ in node.next_functions]
        shown.append([node.name(), saved, sorted(map(repr, node.attributes().items())), [one and one.name() for one in following]])
        stack += following
    return shown


def outcome(form: Form, session: Any) -> Any:
    """What one call gave: its digest, or its error."""
    import gradsh
    from gradsh.engine.ambient import enter
    from gradsh.engine.graph.tensor import make

    given = form.given(lambda array: make(array.copy(), array.dtype.kind == "f" and "out=o" not in form.text))
    if session is None:
        gradsh.manual_seed(0)
        result = caught(form.text, {"torch": gradsh, **given})
    else:
        session.machine.program.update(given)
        events: list[Any] = []
        session.run(SCRIPT.format(form.text), events.append)
        assert all(event.ok for event in events if hasattr(event, "ok")), (form.text, events)
        result = session.machine.program["r"]
        with enter(session.ambient):
            return digest(result, given)
    return digest(result, given)


SCRIPT = """torch.manual_seed(0)
try:
    r = {}
except Exception as e:
    r = (type(e).__name__, str(e))
"""


def caught(text: str, names: dict[str, Any]) -> Any:
    """What a text gives in Python, or the words of its error."""
    try:
        return eval(text, names)
    except Exception as error:  # noqa: BLE001  (which error it is, is compared)
        return type(error).__name__, str(error)


def main() -> None:
    """Print what each form gave."""
    kind = sys.argv[1]
    import gradsh.engine.schema.overload as record

    if kind == "general":
        record.SPECIALIZE_AFTER = 1 << 60
    session = None
    if kind == "script":
        from gradsh.session.session import Session

        session = Session()
    warnings.simplefilter("ignore")
    chosen = list(forms(1 if SWEEP else 2))
    told: list[dict[str, Any]] = [{} for _ in chosen]
    for turn in range(int(sys.argv[2])):
        order = list(range(len(chosen)))
        random.Random(turn).shuffle(order)
        for place in order:
            told[place].setdefault(json.dumps(outcome(chosen[place], session)), turn)
    print(json.dumps([[f"{place} {form.text}", list(told[place])] for place, form in enumerate(chosen)]))


if __name__ == "__main__":
    main()
