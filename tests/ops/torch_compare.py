"""Run one expression here and in PyTorch on the same data, and list every difference.

    from torch_compare import compare
    compare("torch.add(x, y)", x=(2, 3), y=np.array([1.0, 2.0, 3.0]))

    python tests/ops/torch_compare.py "torch.add(x, y)" x=2,3 y=3,        shapes: normal random numbers, float64

A tuple stands for random numbers of that shape; an ndarray (or a list of ndarrays) for that data; a string "float32:2,3" for
random numbers of that dtype; anything else goes in as it is. For each subset of the floating inputs that need a
gradient: values, dtypes, strides, requires_grad, the graph (names, edges, saved names, shapes, dtypes, attributes),
gradients for a random cotangent, a second backward, the graph of the gradients under create_graph and the gradients of
these (also with respect to the cotangent). An error must be the same error. Statements work too:
"x = x.clone(); x.mul_(2); out = x". Returns the list of differences and prints it unless `quiet`.
"""



import sys
import warnings
from itertools import combinations

import numpy as np
import torch as pytorch
from ops_namespace import torch as ours

import gradsh.engine.autograd.backward as engine
from gradsh.engine.graph.tensor import Tensor, make
from gradsh.engine.values.dtype import DType, of_numpy
from gradsh.engine.values.reduced import BFLOAT16, FLOAT16, REDUCED, cast

pytorch.set_num_threads(1)
warnings.filterwarnings("ignore", category=UserWarning)
LEAF = "torch::autograd::AccumulateGrad"


def given(value, seed):
    """Return the data that an argument stands for."""
    rng = np.random.default_rng(seed)
    if isinstance(value, tuple):
        return np.asarray(rng.normal(size=value))
    if isinstance(value, str) and ":" in value:
        dtype, _, shape = value.partition(":")
        shape = tuple(int(n) for n in shape.split(",") if n)
        if dtype == "bool":
            return np.asarray(rng.integers(0, 2, shape), np.bool_)
        if "int" in dtype:
            return np.asarray(rng.integers(0, 5, shape), dtype)
        return np.asarray(rng.normal(size=shape), dtype)
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, list) and value and all(isinstance(one, np.ndarray) for one in value):
        return value
    return value


def array_of(tensor):
    """Return the array of one of PyTorch's tensors."""
    if tensor.dtype == pytorch.bfloat16:
        return tensor.detach().float().numpy(force=True).astype(BFLOAT16)
    return tensor.detach().numpy(force=True)


class Side:
    """One of the two libraries: how to make tensors, evaluate and differentiate."""

    def __init__(self, mine):
        self.mine = mine
        self.namespace = ours if mine else pytorch

    def tensor(self, array, needs):
        if self.mine:
            fresh = np.empty_like(array)  # keeps the layout
            fresh[...] = array
            return make(fresh, needs)
        copy = array.copy("K") if array.ndim else np.array(array)
        if array.dtype == BFLOAT16:
            return pytorch.from_numpy(copy.astype(np.float32)).to(pytorch.bfloat16).requires_grad_(needs)
        return pytorch.from_numpy(copy).requires_grad_(needs)

    def is_tensor(self, value):
        return isinstance(value, Tensor if self.mine else pytorch.Tensor)

    def evaluate(self, code, names):
        functional = self.namespace.nn.functional
        scope = {"torch": self.namespace, "F": functional, "np": np, **names}
        if "out =" in code:
            exec(code, scope)
            return scope["out"]
        return eval(code, scope)

    def array(self, tensor):
        return tensor.array if self.mine else array_of(tensor)

    def dtype(self, tensor):
        return f"torch.{tensor.dtype.name}" if self.mine else str(tensor.dtype)

    def grad(self, outputs, inputs, cotangents, create):
        if self.mine:
            return engine.grad(outputs, inputs, cotangents, True, create, allow_unused=True)
        return pytorch.autograd.grad(
            outputs, inputs, cotangents, retain_graph=True, create_graph=create, allow_unused=True
        )

    def backward(self, outputs, cotangents):
        (engine if self.mine else pytorch.autograd).backward(outputs, cotangents)

    def saved(self, node):
        """Return {name: [(shape, dtype), ...]} of what a node saved, and its other attributes."""
        if self.mine:
            tensors = {}
            for one in node.saved:
                tensors.setdefault(one.name, []).append((tuple(one.shape), f"torch.{one.dtype.name}"))
            return tensors, {name: plain(value) for name, value in node.attributes().items()}
        tensors, attributes = {}, {}
        for name in dir(node):
            if not name.startswith("_saved_"):
                continue
            try:
                value = getattr(node, name)
            except (RuntimeError, AttributeError):
                continue
            many = value if isinstance(value, (tuple, list)) else (value,)
            kept = [(tuple(one.shape), str(one.dtype)) for one in many if isinstance(one, pytorch.Tensor)]
            if kept:
                tensors[name[7:]] = kept
            elif value is not None or not hasattr(node, "_raw" + name):
                attributes[name[7:]] = plain(value)
        return tensors, attributes


def plain(value):
    """Return an attribute in a form that both libraries share."""
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    if isinstance(value, np.dtype):
        return str(of_numpy(value))
    if isinstance(value, (pytorch.dtype, DType)):
        return str(value)
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, int):
        return value - 2**64 if value > 2**63 else value
    if isinstance(value, float):
        return round(value, 12)
    return str(value)


def steps(tensor):
    """Return the strides that matter: those of dims with several elements."""
    if not tensor.numel():
        return []
    return [step for step, extent in zip(tensor.stride(), tensor.shape, strict=True) if extent > 1]


HERE, THERE = Side(True), Side(False)


def outputs_of(side, value):
    """Return the tensors of a result in order, and the Python values among them."""
    if side.is_tensor(value):
        return [value], []
    if isinstance(value, (tuple, list)):
        tensors, rest = [], []
        for one in value:
            inner, plain_ones = outputs_of(side, one)
            tensors += inner
            rest += plain_ones
        return tensors, rest
    return [], [plain(value)]


def close(got, expected, loose, single=0):
    """Whether two arrays agree to the accuracy of their dtype, and to `single` at best."""
    if got.dtype.kind != "f":
        return np.array_equal(got, expected)
    if got.dtype in REDUCED:  # a rounding or two of these apart
        got, expected, single = got.astype(np.float32), expected.astype(np.float32), 8e-3 if got.dtype == np.float16 else 6e-2
    tolerance = (1e-9 if got.dtype == np.float64 and not single else max(2e-5, single)) * loose
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    return np.allclose(got, expected, rtol=tolerance, atol=tolerance * min(scale, 1e6), equal_nan=True)


class Comparison:
    """The differences of one expression for one subset of inputs that need a gradient."""

    def __init__(self, code, arrays, needing, options):
        self.code = code
        self.arrays = arrays
        self.needing = needing
        self.options = options
        self.problems = []
        dtypes = {getattr(value, "dtype", None) for value in arrays.values()}
        single = 2e-5 if np.dtype(np.float32) in dtypes else 0
        self.single = 6e-2 if BFLOAT16 in dtypes else 8e-3 if FLOAT16 in dtypes else single

    def differ(self, what, expected, got):
        self.problems.append(f"{self.needing} {what}:\n      PyTorch {expected}\n      here    {got}")

    def attempt(self, side):
        names = {}
        for name, value in self.arrays.items():
            if isinstance(value, np.ndarray):
                names[name] = side.tensor(value, name in self.needing)
            elif isinstance(value, list) and value and isinstance(value[0], np.ndarray):
                names[name] = [side.tensor(one, name in self.needing) for one in value]
            else:
                names[name] = value
        try:
            if self.options.get("seed") is not None:
                side.namespace.manual_seed(self.options["seed"])
            value = side.evaluate(self.code, names)
        except Exception as error:  # noqa: BLE001  (the error itself is compared)
            return names, None, error
        return names, value, None

    def run(self):
        names, value, error = self.attempt(HERE)
        their_names, theirs, their_error = self.attempt(THERE)
        if error is not None or their_error is not None:
            self.compare_errors(error, their_error)
            return
        mine_out, mine_rest = outputs_of(HERE, value)
        their_out, their_rest = outputs_of(THERE, theirs)
        if mine_rest != their_rest:
            self.differ("Python values", their_rest, mine_rest)
        if len(mine_out) != len(their_out):
            self.differ("number of tensors", len(their_out), len(mine_out))
            return
        for place, (one, other) in enumerate(zip(mine_out, their_out, strict=True)):
            self.compare_tensor(f"output {place}", one, other)
        graph = [(one.grad_fn, other.grad_fn) for one, other in zip(mine_out, their_out, strict=True)]
        self.compare_graph(graph, "graph", self.options.get("saved", True))
        if self.needing and not self.problems and self.options.get("grads", True):
            self.compare_grads(names, mine_out, their_names, their_out)

    def compare_errors(self, error, their_error):
        got = "none" if error is None else f"{type(error).__name__}: {error}"
        expected = "none" if their_error is None else f"{type(their_error).__name__}: {their_error}"
        first = expected.partition("\nException raised from")[0]
        if got != first:
            self.differ("error", first, got)

    def compare_tensor(self, what, one, other, loose=1.0):
        facts = []
        for side, tensor in ((THERE, other), (HERE, one)):
            view = tensor._base is not None
            facts.append(
                (tuple(tensor.shape), side.dtype(tensor), bool(tensor.requires_grad), bool(tensor.is_leaf), view)
            )
        if facts[0] != facts[1]:
            self.differ(f"{what} (shape, dtype, requires_grad, is_leaf, is a view)", facts[0], facts[1])
            return
        a, b = HERE.array(one), THERE.array(other)
        if not close(a, b, loose, self.single):
            self.differ(f"{what} values", b.tolist(), a.tolist())
        if self.options.get("strides", True) and steps(one) != steps(other):
            self.differ(f"{what} strides", other.stride(), one.stride())

    # --- graphs -------------------------------------------------------------------------------------------------

    def compare_graph(self, pairs, what, saved):
        seen = {}
        stack = list(pairs)
        while stack:
            mine, other = stack.pop()
            if mine is None or other is None:
                if (mine is None) != (other is None):
                    self.differ(f"{what} node", other and other.name(), mine and mine.name())
                continue
            if other in seen:
                if seen[other] is not mine:
                    self.differ(f"{what} {other.name()}", "one node for two edges", "two nodes")
                continue
            seen[other] = mine
            if mine.name() != other.name():
                self.differ(f"{what} node", outline(other), outline(mine))
                return
            if other.name() == LEAF:
                continue
            if saved:
                self.compare_saved(what, mine, other)
            edges, theirs = mine.next_functions, other.next_functions
            if len(edges) != len(theirs):
                self.differ(f"{what} {other.name()} edges", len(theirs), len(edges))
                return
            for edge, their in zip(edges, theirs, strict=True):
                if edge[1] != their[1]:
                    self.differ(f"{what} {other.name()} output number", their[1], edge[1])
                stack.append((edge[0], their[0]))

    def compare_saved(self, what, mine, other):
        tensors, attributes = HERE.saved(mine)
        their_tensors, their_attributes = THERE.saved(other)
        if tensors != their_tensors:
            self.differ(f"{what} {other.name()} saves", their_tensors, tensors)
        for name in [one for one in attributes if one.endswith("_sym_strides")]:
            if 0 in attributes.get(name.replace("_strides", "_sizes"), ()):  # strides over no elements
                attributes.pop(name)
                their_attributes.pop(name, None)
        if attributes != their_attributes and what == "graph":
            self.differ(f"{what} {other.name()} attributes", their_attributes, attributes)

    # --- gradients ----------------------------------------------------------------------------------------------

    def leaves(self, names):
        found = []
        for name in self.needing:
            value = names[name]
            found += value if isinstance(value, list) else [value]
        return found

    def compare_grads(self, names, mine_out, their_names, their_out):
        chosen = [place for place, one in enumerate(their_out) if one.requires_grad]
        if not chosen:
            return
        rng = np.random.default_rng(11)
        data = [cast(np.asarray(rng.normal(size=tuple(their_out[n].shape))), THERE.array(their_out[n]).dtype) for n in chosen]
        sides = (HERE, names, [mine_out[n] for n in chosen]), (THERE, their_names, [their_out[n] for n in chosen])
        results = []
        for side, held, outputs in sides:
            leaves = self.leaves(held)
            cotangents = [side.tensor(one, False) for one in data]
            results.append(guarded(lambda: side.grad(outputs, leaves, cotangents, False)))
        if self.unequal(results, "gradient"):
            return
        if self.options.get("double", True):
            self.compare_double(sides, data)
        texts = []
        for side, _held, outputs in sides:
            cotangents = [side.tensor(one, False) for one in data]
            first = guarded(lambda: side.backward(outputs, cotangents))
            second = guarded(lambda: side.backward(outputs, cotangents))
            texts.append(tuple(one if isinstance(one, str) else "ok" for one in (first, second)))
        if texts[0] != texts[1]:
            self.differ("backward twice", texts[1], texts[0])

    def unequal(self, results, what, loose=1.0):
        mine, theirs = results
        if isinstance(mine, str) or isinstance(theirs, str):
            if mine != theirs:
                self.differ(what, theirs if isinstance(theirs, str) else "ok", mine if isinstance(mine, str) else "ok")
            return True
        for place, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            if (one is None) != (other is None):
                self.differ(f"{what} {place}", other, one)
                return True
            if one is not None:
                before = len(self.problems)
                self.compare_gradient(f"{what} {place}", one, other, loose)
                if len(self.problems) > before:
                    return True
        return False

    def compare_gradient(self, what, one, other, loose):
        facts = [
            (tuple(tensor.shape), side.dtype(tensor), bool(tensor.requires_grad))
            for side, tensor in ((THERE, other), (HERE, one))
        ]
        if facts[0] != facts[1]:
            self.differ(f"{what} (shape, dtype, requires_grad)", facts[0], facts[1])
            return
        a, b = HERE.array(one), THERE.array(other)
        if not close(a, b, loose, self.single):
            self.differ(f"{what} values", b.tolist(), a.tolist())

    def compare_double(self, sides, data):
        rng = np.random.default_rng(12)
        results, firsts, leaves = [], [], []
        for side, held, outputs in sides:
            cotangents = [side.tensor(one, True) for one in data]
            chosen = self.leaves(held)
            leaves.append([*chosen, *cotangents])
            firsts.append(guarded(lambda: side.grad(outputs, chosen, cotangents, True)))
        if self.unequal(firsts, "gradient with create_graph", 10.0):
            return
        mine, theirs = ([one for one in first if one is not None and one.requires_grad] for first in firsts)
        pairs = [(one.grad_fn, other.grad_fn) for one, other in zip(mine, theirs, strict=True)]
        if self.options.get("double_graph", True):
            self.compare_graph(pairs, "graph of the gradient", self.options.get("double_saved", False))
        if not mine:
            return
        second = [cast(np.asarray(rng.normal(size=tuple(one.shape))), THERE.array(one).dtype) for one in theirs]
        for (side, _, _), gradients, inputs in zip(sides, (mine, theirs), leaves, strict=True):
            vectors = [side.tensor(one, False) for one in second]
            results.append(guarded(lambda: side.grad(gradients, inputs, vectors, False)))
        self.unequal(results, "second gradient", 100.0)


def guarded(action):
    """Return what the action returns, or its error as text."""
    try:
        return action()
    except Exception as error:  # noqa: BLE001  (compared as text)
        return f"{type(error).__name__}: {error}".partition("\nException raised from")[0]


def outline(node, depth=4):
    """Return a node and what lies below it, in one line."""
    if node is None:
        return "–"
    name = node.name()
    if name == LEAF:
        return "leaf"
    if depth == 0:
        return name
    return f"{name}({', '.join(outline(edge[0], depth - 1) for edge in node.next_functions)})"


def subsets(names):
    """Return every subset of the names, small ones first."""
    return [list(each) for size in range(len(names) + 1) for each in combinations(names, size)]


def compare(code, quiet=False, needs=None, seed=None, **arguments):
    """Compare one expression; see the module. Options: needs (the subsets to try), saved/grads/double/double_graph/
    double_saved/strides=False to leave a part out, seed (before each evaluation)."""
    options = {key: arguments.pop(key) for key in tuple(arguments) if key in _OPTIONS}
    options["seed"] = seed
    arrays = {name: given(value, place + 1) for place, (name, value) in enumerate(arguments.items())}
    floats = [
        name for name, value in arrays.items()
        if (isinstance(value, np.ndarray) and value.dtype.kind == "f")
        or (isinstance(value, list) and value and isinstance(value[0], np.ndarray) and value[0].dtype.kind == "f")
    ]
    problems = []
    for needing in subsets(floats) if needs is None else needs:
        one = Comparison(code, arrays, needing, options)
        one.run()
        problems += one.problems
    if not quiet:
        shown = {name: (value if not isinstance(value, np.ndarray) else value.shape) for name, value in arrays.items()}
        print(f"{'DIFFERS' if problems else 'same   '} {code}   {shown}")
        for problem in problems:
            print("   ", problem)
    return problems


_OPTIONS = {"saved", "grads", "double", "double_graph", "double_saved", "strides"}


def main(arguments):
    names = {}
    for word in arguments[1:]:
        name, _, shape = word.partition("=")
        names[name] = shape if ":" in shape else tuple(int(n) for n in shape.split(",") if n)
    return 1 if compare(arguments[0], **names) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
