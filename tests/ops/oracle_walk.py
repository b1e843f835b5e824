"""Walk PyTorch's recorded answers (saved_tensors.json): each call, each pattern of inputs that need a gradient.

    python tests/ops/oracle_walk.py [op or part of a call ...]     every difference
    python tests/ops/oracle_walk.py --summary [...]                one line an op

Compared: outputs (shape, dtype, strides, requires_grad, what memory and version they share), the whole graph, what
each node saved and where that memory stands, its other attributes, a second backward, and a modification of each
input and result between forward and backward.
"""



import json
import sys
from pathlib import Path

import numpy as np
from ops_namespace import F, absent, torch

from gradsh.engine.autograd.backward_pass import BackwardPass
from gradsh.engine.graph.tensor import AccumulateGrad, Tensor, gradient_edge, make
from gradsh.engine.values.storage import memory_key

ORACLE = Path(__file__).parent.parent / "oracle" / "saved_tensors.json"
POSITIVE_DEFINITE = ("cholesky", "logdet")


def load():
    """Return the recorded calls."""
    with ORACLE.open(encoding="utf-8") as file:
        return json.load(file)["calls"]


def data(spec, call, position):
    """Return an array for a recorded input: any values in the domain of the operation will do."""
    rng = np.random.default_rng(position + 1)
    shape, dtype = tuple(spec["shape"]), spec["dtype"]
    size = int(np.prod(shape))
    if dtype == "bool":
        return np.isin(np.arange(size) % 5, (0, 2)).reshape(shape)
    if dtype.startswith(("int", "uint")):
        return (np.arange(size) % 2).astype(dtype).reshape(shape)
    values = rng.uniform(0.1, 0.9, shape) + ("acosh" in call)
    if any(word in call for word in POSITIVE_DEFINITE) and len(shape) == 2 and shape[0] == shape[1]:
        values = values @ values.T + np.eye(shape[0])
    return np.asarray(values, dtype)


def inputs_for(call, pattern):
    """Return fresh leaves for a call."""
    return {
        spec["name"]: make(np.array(data(spec, call["call"], place)), spec["name"] in pattern)
        for place, spec in enumerate(call["inputs"])
    }


def run_call(code, tensors):
    """Execute the recorded code; return its value and every named tensor around."""
    names = {"torch": torch, "F": F, "np": np, **tensors}
    if code.startswith("x = ") or "; out = " in code:
        exec(code, names)
        return names["out"], {name: value for name, value in names.items() if isinstance(value, Tensor)}
    return eval(code, names), dict(tensors)


def labelled(value, labels):
    """Return {label: output} for the labels of the record; a surplus or missing output shows as None."""
    found = {}
    for label in labels:
        if label == "result":
            found[label] = value
        elif label.startswith("result["):
            place = int(label[7:-1])
            found[label] = value[place] if isinstance(value, (tuple, list)) and place < len(value) else None
        else:
            found[label] = getattr(value, label.removeprefix("result."), None)
    return found


class Walk:
    """The differences of one call and pattern."""

    def __init__(self, call, pattern):
        self.call = call
        self.pattern = pattern
        self.problems = []
        self.tensors = {}
        self.named = {}
        self.outputs = {}

    def differ(self, what, expected, got):
        self.problems.append(f"{what}: PyTorch {expected}, here {got}")

    def forward(self):
        self.tensors = inputs_for(self.call, self.pattern["pattern"])
        value, self.named = run_call(self.call["call"], self.tensors)
        self.outputs = labelled(value, [output["label"] for output in self.pattern["outputs"]])
        return value

    def run(self):
        value = self.forward()
        for label, output in self.outputs.items():
            if not isinstance(output, Tensor):
                self.differ(label, "a tensor", type(output).__name__)
                return
        if isinstance(value, (tuple, list)) and len(value) != len(self.outputs):
            self.differ("number of outputs", len(self.outputs), len(value))
        for spec in self.pattern["outputs"]:
            self.check_output(spec, self.outputs[spec["label"]])
        self.check_graph()
        if not self.problems:
            self.check_versions()
            self.check_second()
            self.check_modified()

    # --- outputs ------------------------------------------------------------------------------------------------

    def check_output(self, spec, output):
        label = spec["label"]
        strides = spec.get("strides")
        for what, expected, got in (
            ("shape", tuple(spec["shape"]), tuple(output.shape)),
            ("dtype", spec["dtype"], output.dtype.name),
            ("requires_grad", spec["requires_grad"], output.requires_grad),
            ("has grad_fn", spec["grad_fn"] is not None, output.grad_fn is not None),
            ("output_nr", spec["output_nr"], output.output_nr),
            ("is_contiguous", strides is None, output.is_contiguous()),
            ("strides", strides, list(output.stride()) if strides is not None else None),
        ):
            if expected != got:
                self.differ(f"{label} {what}", expected, got)
        self.check_sharing(spec, label, output)

    def check_sharing(self, spec, label, output):
        same = spec.get("same_object_as")
        if (same is None and any(output is one for one in self.named.values() if one is not self.named.get("out"))) or (
            same is not None and self.named.get(same) is not output
        ):
            self.differ(f"{label} is the object", same, [name for name, one in self.named.items() if one is output])
        shared = spec["storage"].removeprefix("shared with ") if spec["storage"] != "own" else None
        mine = memory_key(output.array)
        sharing = [
            name for name, one in self.named.items()
            if one is not output and name != "out" and memory_key(one.array) == mine
        ]
        if output.array.size and (shared is None) != (not sharing) and same is None:
            self.differ(f"{label} shares memory with", shared, sharing)
        self.check_base(spec.get("view_of"), label, output)

    def check_base(self, view_of, label, output):
        base = output._base
        if (view_of is None) != (base is None):
            self.differ(f"{label} is a view of", view_of, None if base is None else list(base.shape))
        elif view_of is not None and view_of in self.named and base is not self.named[view_of]:
            self.differ(f"{label} is a view of", view_of, "another tensor")
        elif view_of is not None and view_of.startswith("unnamed"):
            expected = json.loads(view_of[view_of.index("[") :])
            if expected != list(base.shape):
                self.differ(f"{label} is a view of", view_of, list(base.shape))

    # --- graph --------------------------------------------------------------------------------------------------

    def check_graph(self):
        nodes = {node["id"]: node for node in self.pattern["nodes"]}
        self.matched = {}
        self.buffers = {}
        stack = [
            (self.outputs[spec["label"]].grad_fn, spec["grad_fn"]) for spec in self.pattern["outputs"]
            if spec["grad_fn"] is not None
        ]
        while stack:
            mine, number = stack.pop()
            if mine is None:
                continue
            before = self.matched.get(number)
            if before is not None:
                if before is not mine:
                    self.differ(f"#{number} {nodes[number]['name']}", "one node", "several")
                continue
            self.matched[number] = mine
            spec = nodes[number]
            if not self.check_node(spec, mine):
                continue
            for place, (expected, edge) in enumerate(zip(spec["next"], mine.next_functions, strict=True)):
                target, output_nr = edge
                if (expected[0] is None) != (target is None):
                    name = None if target is None else target.name()
                    wanted = None if expected[0] is None else nodes[expected[0]]["name"]
                    self.differ(f"#{number} {spec['name']} edge {place}", wanted, name)
                elif target is not None:
                    if expected[1] != output_nr:
                        self.differ(f"#{number} {spec['name']} edge {place} output", expected[1], output_nr)
                    stack.append((target, expected[0]))

    def check_node(self, spec, mine):
        where = f"#{spec['id']} {spec['name']}"
        if mine.name() != spec["name"]:
            self.differ(f"#{spec['id']} name", spec["name"], mine.name())
            return False
        if "leaf" in spec:
            variable = mine.variable if isinstance(mine, AccumulateGrad) else None
            if spec["leaf"] in self.named and variable is not self.named[spec["leaf"]]:
                self.differ(f"{where} variable", spec["leaf"], variable)
            return True
        self.check_saved(spec, mine, where)
        expected = {name: plain(value) for name, value in spec.get("attrs", {}).items()}
        attributes = {name: plain(value) for name, value in mine.attributes().items()}
        if expected != attributes:
            self.differ(f"{where} attributes", expected, attributes)
        if len(spec["next"]) != len(mine.next_functions):
            self.differ(f"{where} number of edges", len(spec["next"]), len(mine.next_functions))
            return False
        return True

    def check_saved(self, spec, mine, where):
        expected = {(one["name"], one.get("list_index")): one for one in spec["saved"]}
        got = {(one.name, one.index): one for one in mine.saved}
        if set(expected) != set(got):
            self.differ(f"{where} saves", show_keys(expected), show_keys(got))
        slots = {one["name"] for one in spec["saved"]} | set(spec.get("not_saved", ()))
        if slots != set(mine.saved_names()):
            self.differ(f"{where} slots", sorted(slots), sorted(mine.saved_names()))
        for key in set(expected) & set(got):
            self.check_entry(expected[key], got[key], f"{where} saved {key[0]}")

    def check_entry(self, expected, got, where):
        if tuple(expected["shape"]) != tuple(got.shape) or expected["dtype"] != got.dtype.name:
            self.differ(where, f"{expected['shape']} {expected['dtype']}", f"{list(got.shape)} {got.dtype.name}")
            return
        number = "value" in expected and "scalar" in expected["what"]
        if number and not np.allclose(float(expected["value"]), got.array):
            self.differ(f"{where} value", expected["value"], got.array)
        if not got.array.size:
            return
        memory = memory_key(got.array)
        places = [f"input {name}" for name, one in self.named.items() if memory_key(one.array) == memory]
        places += [name for name, one in self.outputs.items() if memory_key(one.array) == memory]
        storage = expected["storage"]
        if storage == "own":
            if places:
                self.differ(f"{where} memory", "own", places)
            number = self.buffers.setdefault(expected.get("buffer"), memory)
            if number != memory or [n for n, m in self.buffers.items() if m == memory] != [expected.get("buffer")]:
                self.differ(f"{where} buffer", expected.get("buffer"), "another grouping of buffers")
        elif storage not in places:
            self.differ(f"{where} memory", storage, places or "own")

    # --- passes -------------------------------------------------------------------------------------------------

    def all_tensors(self):
        tensors = {name: one for name, one in self.named.items() if name in self.tensors}
        tensors.update(self.outputs)
        return tensors

    def roots(self):
        """Return where a backward starts: taken before anything is modified, as a loss computed at once would."""
        found = [one for one in self.outputs.values() if one.requires_grad]
        return [(gradient_edge(one), np.ones(one.array.shape, one.array.dtype)) for one in found]

    def attempt(self, roots):
        try:
            BackwardPass(list(roots), False, False, None, None).run()
        except RuntimeError as error:
            return f"RuntimeError: {error}"
        return "ok"

    def check_versions(self):
        for name, labels in self.pattern["shares_version_with"].items():
            source = self.named.get(name)
            for label in labels if source is not None else ():
                if self.outputs[label].counter is not source.counter:
                    self.differ(f"{label} shares its version with", name, "its own counter")

    def check_second(self):
        expected = self.pattern["second_backward"]
        if expected is None:
            return
        roots = self.roots()
        first = self.attempt(roots)
        if "first" in expected:
            if first != expected["first"]:
                self.differ("first backward", expected["first"], first)
            return
        if first != "ok":
            self.differ("first backward", "ok", first)
            return
        second = self.attempt(roots)
        wanted = "ok" if expected["second"] == "ok" else f"{expected['error']}: {expected['message']}"
        if second != wanted:
            self.differ("second backward", wanted[:60], second[:200])

    def check_modified(self):
        for label, expected in (self.pattern.get("modify_before_backward") or {}).items():
            self.forward()
            tensor = self.all_tensors().get(label)
            if tensor is None or expected.startswith("cannot modify"):
                continue
            roots = self.roots()
            tensor.counter.bump(None)
            got = self.attempt(roots)
            short = "ok" if got == "ok" else "raises"
            if short != expected:
                self.differ(f"backward after modifying {label}", expected, got[:200])


def plain(value):
    """Return an attribute's value as the record writes it."""
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    if isinstance(value, np.dtype):
        return f"torch.{value.name}"
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def show_keys(entries):
    return sorted(name if index is None else f"{name}[{index}]" for name, index in entries)


def differences(call):
    """Return (missing name or None, the differences) of one recorded call over all its patterns."""
    problems = []
    for pattern in call["patterns"]:
        walk = Walk(call, pattern)
        try:
            walk.run()
        except Exception as error:  # noqa: BLE001  (a crash is a difference to report, whatever it is)
            if absent(error):
                return f"{type(error).__name__}: {error}", problems
            walk.problems.append(f"{type(error).__name__}: {error}")
        problems += [f"{pattern['pattern']} {problem}" for problem in walk.problems]
    return None, problems


def main(arguments):
    summary = "--summary" in arguments
    wanted = [word for word in arguments if not word.startswith("--")]
    good = bad = missing = 0
    for call in load():
        if wanted and not any(word == call["op"] or (len(word) > 3 and word in call["call"]) for word in wanted):
            continue
        absent_name, problems = differences(call)
        shapes = ", ".join(f"{one['name']}{tuple(one['shape'])}" for one in call["inputs"])
        if absent_name is not None:
            missing += 1
            print(f"missing  {call['call']}   ({absent_name})")
        elif problems:
            bad += 1
            print(f"DIFFERS  {call['call']}   {shapes}")
            for problem in problems[:1] if summary else problems:
                print(f"         {problem}")
        else:
            good += 1
            if wanted and not summary:
                print(f"same     {call['call']}   {shapes}")
    print(f"{good} same, {bad} differ, {missing} missing")


if __name__ == "__main__":
    main(sys.argv[1:])
