"""The workloads with PyTorch's names: written once, run by gradsh and by PyTorch. `T` is the library.

A workload is a function that prepares and returns what runs once and measures; `first` tells it that memory may be
measured now, before the process has kept anything.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.measure import Metrics, peak_above, seconds, status

Run = Callable[[bool], Metrics]


def tensor_of(T: Any, array: Any, grad: bool = False) -> Any:
    return T.from_numpy(array.copy()).requires_grad_(grad)


def gradients(first: bool, leaves: Iterable[Any]) -> Metrics:
    """The sum of what is positive in the gradients, once a process: what libraries are compared by."""
    return {"gradients": sum(leaf.grad.clamp(min=0).double().sum().item() for leaf in leaves)} if first else {}


def small_chain(T: Any) -> Run:
    """10,000 operations `y = y*a + b` on 4 elements."""
    a, b, x = (T.full((4,), value, requires_grad=True) for value in (0.999, 0.001, 1.0))

    def run(first: bool) -> Metrics:
        y = x

        def forward() -> None:
            nonlocal y
            for _ in range(5000):
                y = y * a + b

        ahead = seconds(forward)
        loss = y.sum()
        return {"forward": ahead / 10_000, "backward": seconds(loss.backward) / 10_000} | gradients(first, (a, b, x))

    return run


def branches(T: Any) -> Run:
    """10,000 branches off one leaf."""
    x = T.ones(4, requires_grad=True)
    a = T.full((4,), 0.5)

    def run(first: bool) -> Metrics:
        made: list[Any] = []
        ahead = seconds(lambda: made.extend(x * a for _ in range(10_000)))
        ones = [T.ones(4)] * len(made)
        back = seconds(lambda: T.autograd.backward(made, ones))
        return {"forward": ahead / 10_000, "backward": back / 10_000} | gradients(first, (x,))

    return run


def long_chain(T: Any) -> Run:
    """A chain of 1,000,000 nodes."""
    a = T.full((4,), 0.999999)
    x = T.ones(4, requires_grad=True)

    def run(first: bool) -> Metrics:
        y = x

        def forward() -> None:
            nonlocal y
            for _ in range(1_000_000):
                y = y * a

        def drop() -> None:
            nonlocal y
            y = None

        before = status("VmRSS")
        found = {"forward": seconds(forward)}
        if first:
            found["bytes"] = (status("VmRSS") - before) / 1e6
        loss = y.sum()
        found |= {"backward": seconds(loss.backward)} | gradients(first, (x,))
        del loss
        forward()  # what a pass did not free
        found["drop"] = seconds(drop)
        return found

    return run


def mlp_arrays() -> tuple[list[Any], Any, Any]:
    rng = np.random.default_rng(0)
    sizes = (784, 512, 512, 10)
    layers = []
    for n, m in pairwise(sizes):
        layers += [(rng.standard_normal((m, n)) / n**0.5).astype(np.float32), np.zeros(m, np.float32)]
    return layers, rng.standard_normal((256, 784)).astype(np.float32), rng.integers(0, 10, 256)


def mlp(T: Any) -> Run:
    """A training step of 784-512-512-10 with batch 256: forward, cross-entropy, backward, SGD."""
    layers, x, labels = mlp_arrays()
    weights = [tensor_of(T, one, True) for one in layers]
    x, labels = tensor_of(T, x), tensor_of(T, labels)
    F = T.nn.functional
    optimizer = T.optim.SGD(weights, lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        h = x
        for place in range(0, 4, 2):
            h = F.relu(F.linear(h, weights[place], weights[place + 1]))
        F.cross_entropy(F.linear(h, weights[4], weights[5]), labels).backward()
        optimizer.step()

    return lambda first: {"step": seconds(step)} | gradients(first, weights)


def elementwise(T: Any) -> Run:
    """tanh(x) * sigmoid(x) + x**2 on 16M elements, and its gradient."""
    x = T.linspace(-3, 3, 1 << 24).requires_grad_()

    def step() -> None:
        x.grad = None
        (T.tanh(x) * T.sigmoid(x) + x**2).mean().backward()

    def run(first: bool) -> Metrics:
        if first:
            return {"peak": peak_above(step)} | gradients(first, (x,))
        return {"step": seconds(step)}

    return run


def products(T: Any) -> Run:
    """(a @ b) @ c of 2048 x 2048, forward and backward, against numpy's own six products."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2048, 2048)).astype(np.float32) for _ in range(3)]
    a, b, c = (tensor_of(T, one, True) for one in arrays)
    ones = T.ones(2048, 2048)

    def step() -> None:
        a.grad = b.grad = c.grad = None
        ((a @ b) @ c).backward(ones)

    start = np.ones((2048, 2048), np.float32)

    def raw() -> None:
        u, v, w = arrays
        p = u @ v
        p @ w
        g = start @ w.T
        p.T @ start  # not p.T @ p, of which numpy computes one half only
        g @ v.T
        u.T @ g

    return lambda first: {"step": seconds(step), "of raw": seconds(raw)} | gradients(first, (a, b, c))


def convolution(T: Any) -> Run:
    """conv2d of 16x16x32x32 with 32 filters 3x3, forward and backward."""
    rng = np.random.default_rng(0)
    x = tensor_of(T, rng.standard_normal((16, 16, 32, 32)).astype(np.float32), True)
    w = tensor_of(T, rng.standard_normal((32, 16, 3, 3)).astype(np.float32), True)
    b = tensor_of(T, np.zeros(32, np.float32), True)

    def step() -> None:
        x.grad = w.grad = b.grad = None
        T.nn.functional.conv2d(x, w, b, padding=1).sum().backward()

    return lambda first: {"step": seconds(step)} | gradients(first, (x, w, b))


def recurrent(T: Any) -> Run:
    """100 steps of a recurrent net, hidden 128, batch 32: h = tanh(x W + h U + b)."""
    rng = np.random.default_rng(0)
    w, u = (tensor_of(T, (rng.standard_normal((128, 128)) / 16).astype(np.float32), True) for _ in range(2))
    b = tensor_of(T, np.zeros(128, np.float32), True)
    xs = [tensor_of(T, rng.standard_normal((32, 128)).astype(np.float32)) for _ in range(100)]

    def step() -> None:
        w.grad = u.grad = b.grad = None
        h = T.zeros(32, 128)
        for x in xs:
            h = T.tanh(x @ w + h @ u + b)
        h.sum().backward()

    return lambda first: {"step": seconds(step)} | gradients(first, (w, u, b))


def penalty(T: Any) -> Run:
    """A gradient penalty: the norm of a small net's gradient, differentiated."""
    rng = np.random.default_rng(0)
    w, v = (tensor_of(T, (rng.standard_normal(s) / 8).astype(np.float32), True) for s in ((64, 128), (128, 1)))
    x = tensor_of(T, rng.standard_normal((64, 64)).astype(np.float32), True)

    def step() -> None:
        w.grad = v.grad = None
        out = T.tanh(x @ w) @ v
        (grad,) = T.autograd.grad(out.sum(), (x,), create_graph=True)
        ((grad.norm(2, dim=1) - 1) ** 2).mean().backward()

    return lambda first: {"step": seconds(step)} | gradients(first, (w, v))


def deep(T: Any) -> Run:
    """Memory of 12 layers of 1024 with batch 1024: the peak of a pass above what was there before."""
    rng = np.random.default_rng(0)
    weights = [tensor_of(T, (rng.standard_normal((1024, 1024)) / 32).astype(np.float32), True) for _ in range(12)]
    x = tensor_of(T, rng.standard_normal((1024, 1024)).astype(np.float32))
    warm = T.ones(1024, 1024)  # the work space of the library of products, which is not the pass's
    warm @ warm

    def step(retain: bool) -> None:
        h = x
        for w in weights:
            h = T.relu(h @ w)
        h.sum().backward(retain_graph=retain)

    def run(first: bool) -> Metrics:
        for w in weights:
            w.grad = None
        return {"freed": peak_above(lambda: step(False))} | gradients(first, weights)

    return run


def deep_retained(T: Any) -> Run:
    """The same with `retain_graph`."""
    rng = np.random.default_rng(0)
    weights = [tensor_of(T, (rng.standard_normal((1024, 1024)) / 32).astype(np.float32), True) for _ in range(12)]
    x = tensor_of(T, rng.standard_normal((1024, 1024)).astype(np.float32))
    warm = T.ones(1024, 1024)  # the work space of the library of products, which is not the pass's
    warm @ warm

    def step() -> None:
        h = x
        for w in weights:
            h = T.relu(h @ w)
        h.sum().backward(retain_graph=True)

    return lambda first: {"retained": peak_above(step)} | gradients(first, weights)


def listing(T: Any) -> Run:
    """Listing every saved tensor of a graph of 100,000 nodes."""
    a = T.full((4,), 0.999999, requires_grad=True)
    y = T.ones(4, requires_grad=True)
    for _ in range(100_000):
        y = y * a
    ours = hasattr(y.grad_fn, "saved")
    names: dict[type, list[str]] = {}

    def saved(node: Any) -> list[Any]:
        kind = type(node)
        if kind not in names:
            names[kind] = [name for name in dir(node) if name.startswith("_saved_")]
        found = []
        for name in names[kind]:
            value = getattr(node, name)
            if isinstance(value, T.Tensor):
                found.append((name, tuple(value.shape), value.nbytes))
        return found

    def walk() -> int:
        seen, stack, rows = set(), [y.grad_fn], 0
        while stack:
            node = stack.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            rows += len([(one.name, one.shape, one.nbytes) for one in node.saved] if ours else saved(node))
            stack += [one for one, _ in node.next_functions]
        return rows

    return lambda _: {"walk": seconds(walk)}


WORKLOADS: dict[str, Callable[[Any], Run]] = {
    one.__name__: one
    for one in (
        small_chain, branches, long_chain, mlp, elementwise, products, convolution, recurrent, penalty, deep,
        deep_retained, listing,
    )
}
