"""Random programs of views and writes, run statement by statement here and in PyTorch.

    python tests/ops/view_programs.py FIRST_SEED COUNT [LENGTH]      every kind of difference, shortened

After each statement every tensor is compared: values, requires_grad, is_leaf, its graph, version, strides, base and
identity with the others; at the end, what backward leaves in every `.grad`. An error must be the same error.
"""

import random
import sys
import warnings

import numpy as np
import torch as pytorch
from ops_namespace import torch as ours

import gradsh.engine.ambient as ambient

VIEWS = (
    "{a}[0]", "{a}[-1]", "{a}[1:]", "{a}.view(-1)", "{a}.t()", "{a}.unsqueeze(0)", "{a}.expand(2, *{a}.shape)",
    "{a}.split(1)[0]", "{a}.unbind()[0]", "{a}.detach()", "{a}.data", "{a}[...]", "{a}.reshape(-1)", "{a}.diagonal()",
    "{a}[:, 0]", "{a}.transpose(0, -1)", "{a}.squeeze()", "{a}.select(-1, 0)", "{a}.narrow(0, 0, 1)", "{a}.view_as({a})",
    "{a}.as_strided((2,), (1,))", "{a}.chunk(2)[1]", "{a}.tensor_split(2)[0]", "{a}.detach().requires_grad_()",
)
RESULTS = (
    "{a} * 2", "{a}.clone()", "{a} * {b}", "{a}.sin()", "{a} + {b}", "{a}.sum()", "{a}[[0]]", "{a}.contiguous()",
    "torch.zeros(3, 4)", "torch.ones(3, 4, requires_grad=True)", "{a}.to(torch.float64)",
)
WRITES = (
    "{a}.mul_(2)", "{a}.add_({b})", "{a}.zero_()", "{a}[0] = 3.", "{a}[0] = {b}", "{a}.copy_({b})", "{a}.sin_()",
    "{a}.fill_(1.5)", "{a}.mul_({b})", "{a}[1:] = 0.", "{a} += 1", "{a}.t_()", "{a}.unsqueeze_(0)", "{a}.squeeze_()",
    "{a}.detach_()", "{a}.requires_grad_()", "{a}.requires_grad_(False)", "{a}[[0]] = 2.", "{a}.data.mul_(2)",
    "{a}[{a} > 0] = 1.", "{a}[..., 0] = {b}", "{a}.retain_grad()",
)
NO_GRAD = "no_grad: "
BACKWARD = ".sum().backward(retain_graph=True)"


def program(seed, length):
    """Return the statements of a random program."""
    rng = random.Random(seed)
    names = ["x", "y"]
    statements = [
        f"x = torch.ones(3, 4{', requires_grad=True' if rng.random() < 0.6 else ''})",
        f"y = torch.arange(12.).view(3, 4){'.requires_grad_()' if rng.random() < 0.3 else ''}",
    ]
    if rng.random() < 0.7:
        statements.append("x = x.clone()")
    for number in range(length):
        kind, mode = rng.random(), NO_GRAD if rng.random() < 0.15 else ""
        words = {"a": rng.choice(names[-5:]), "b": rng.choice(names)}
        if kind < 0.6:
            name = f"v{number}"
            statements.append(f"{mode}{name} = {rng.choice(VIEWS if kind < 0.45 else RESULTS).format(**words)}")
            names.append(name)
        else:
            statements.append(mode + rng.choice(WRITES).format(**words))
    return statements


def outline(node, depth=5):
    """Return a graph as text."""
    if node is None or depth == 0:
        return "..." if node is not None else "-"
    if node.name().endswith("AccumulateGrad"):
        return "leaf"
    return f"{node.name()}({','.join(f'{outline(to, depth - 1)}:{nr}' for to, nr in node.next_functions)})"


def answer(ask):
    """Return what asking gives, or the error as text."""
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  (compared as text)
        return f"{type(error).__name__}: {error}".partition("\nException raised")[0]


def facts(tensor, array):
    """Return everything about a tensor that must agree."""
    strides = [step for step, extent in zip(tensor.stride(), tensor.shape, strict=True) if extent > 1]
    return {
        "values": [f"{one:.4g}" for one in np.asarray(array, float).ravel()],
        "requires_grad": answer(lambda: tensor.requires_grad), "is_leaf": answer(lambda: tensor.is_leaf),
        "graph": answer(lambda: outline(tensor.grad_fn)), "version": tensor._version,
        "strides": strides if tensor.numel() else [],
    }


class Run:
    """One program in both libraries."""

    def __init__(self):
        self.mine = {"torch": ours}
        self.theirs = {"torch": pytorch}

    def tensors(self):
        return [name for name, value in self.theirs.items() if isinstance(value, pytorch.Tensor)]

    def step(self, statement):
        """Execute one statement in both; return the difference it makes, or None."""
        code = statement.removeprefix(NO_GRAD)
        recorded = code == statement
        with ambient.grad_mode(recorded):
            got = answer(lambda: exec(code, self.mine))
        with pytorch.set_grad_enabled(recorded):
            expected = answer(lambda: exec(code, self.theirs))
        if got != expected:
            return f"error: PyTorch {expected}, here {got}"
        return self.difference()

    def difference(self):
        names = self.tensors()
        for name in names:
            mine, theirs = self.mine[name], self.theirs[name]
            one, other = facts(mine, mine.array), facts(theirs, theirs.detach().numpy())
            if one != other:
                return f"{name}: {({key: (other[key], one[key]) for key in one if one[key] != other[key]})}"
            for again in names:
                if (mine is self.mine[again]) != (theirs is self.theirs[again]):
                    return f"{name} is {again}"
                if (mine._base is self.mine[again]) != (theirs._base is self.theirs[again]):
                    return f"{name}._base is {again}"
            difference = self.gradients(name)
            if difference:
                return difference
        return None

    def gradients(self, name):
        got, expected = answer(lambda: self.mine[name].grad), answer(lambda: self.theirs[name].grad)
        if expected is None or isinstance(expected, str):
            return None if got == expected else f"{name}.grad: PyTorch {expected}, here {got}"
        if got is None or isinstance(got, str) or not np.allclose(got.array, expected.detach().numpy(), 1e-4, equal_nan=True):
            return f"{name}.grad: PyTorch {expected}, here {got}"
        return None


def run(statements):
    """Run a program; return (the statement, the difference) at the first difference, else None."""
    both = Run()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for statement in statements:
            difference = both.step(statement)
            if difference:
                return statement, difference
        needing = [name for name in both.tensors() if both.theirs[name].requires_grad]
        for name in needing[-3:]:
            difference = both.step(name + BACKWARD)
            if difference:
                return name + BACKWARD, difference
    return None


def shorten(statements):
    """Leave out statements as long as the program still differs in the same way; return it with its difference."""
    found = run(statements)
    if found is None:
        return None
    kind = found[1][:6]
    for place in range(len(statements) - 1, -1, -1):
        fewer = statements[:place] + statements[place + 1 :]
        again = run(fewer)
        if again is not None and "NameError" not in again[1] and again[1][:6] == kind:
            statements, found = fewer, again
    return statements, found


def main(first, count, length=8):
    bad = 0
    for seed in range(first, first + count):
        found = shorten(program(seed, length))
        if found is not None:
            bad += 1
            print(f"seed {seed}\n   " + "\n   ".join(found[0]) + f"\n   {found[1][0]}\n=> {found[1][1][:900]}")
    print(f"{bad} of {count} programs differ")


if __name__ == "__main__":
    pytorch.set_num_threads(1)
    main(*(int(word) for word in sys.argv[1:]))
