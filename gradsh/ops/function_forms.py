"""Functions of `torch` that take their numbers as one tuple, where the method of Tensor takes them one by one, too."""

import re

from gradsh.engine.codegen.specialize import STEPS
from gradsh.engine.dispatch.operation import Operation
from gradsh.engine.registry import REGISTRY
from gradsh.engine.schema.overload import PARTS, Overload


def takes_tuple(method: Operation) -> None:
    """Let `torch` offer an operation as a function of a tuple, as PyTorch's functions are that have arguments before the numbers."""
    function = REGISTRY[f"torch_{method.name}"] = Operation(method.name, ("torch",))
    for record in method.records:
        parts = {part: getattr(record, part) for part in PARTS} | {"samples": ()}
        form = Overload(re.sub(r"\*(\w+): ints", r"\1: tuple", record.text), record.node, record.doc, **parts)
        form.spaces = function.spaces
        form.step, form.compact_step, form.recorded_step = STEPS["step"], STEPS["compact_step"], STEPS["recorded_step"]
        function.records.append(form)
