"""The same workloads by HIPS autograd and by hand in numpy, where they can do them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import peak_above, seconds
from benchmarks.workloads import Run, mlp_arrays


def numpy_mlp() -> Run:
    layers, x, labels = mlp_arrays()
    w1, b1, w2, b2, w3, b3 = layers
    rows = np.arange(256)

    def step() -> None:
        p1 = x @ w1.T + b1
        h1 = np.maximum(p1, 0)
        p2 = h1 @ w2.T + b2
        h2 = np.maximum(p2, 0)
        logits = h2 @ w3.T + b3
        logits -= logits.max(1, keepdims=True)
        probabilities = np.exp(logits)
        probabilities /= probabilities.sum(1, keepdims=True)
        _loss = -np.log(probabilities[rows, labels]).mean()
        g = probabilities
        g[rows, labels] -= 1
        g /= 256
        gw3, gb3 = g.T @ h2, g.sum(0)
        g = (g @ w3) * (h2 > 0)
        gw2, gb2 = g.T @ h1, g.sum(0)
        g = (g @ w2) * (h1 > 0)
        gw1, gb1 = g.T @ x, g.sum(0)
        for weight, grad in ((w1, gw1), (b1, gb1), (w2, gw2), (b2, gb2), (w3, gw3), (b3, gb3)):
            weight -= 0.01 * grad

    return lambda _: {"step": seconds(step)}


def numpy_elementwise() -> Run:
    x = np.linspace(-3, 3, 1 << 24, dtype=np.float32)

    def step() -> None:
        t = np.tanh(x)
        s = 1 / (1 + np.exp(-x))
        _loss = (t * s + np.square(x)).mean()
        _grad = ((1 - t * t) * s + t * s * (1 - s) + 2 * x) * np.float32(1 / x.size)

    return lambda first: {"peak": peak_above(step)} if first else {"step": seconds(step)}


def autograd_mlp() -> Run:
    import autograd.numpy as anp
    from autograd import grad

    layers, x, labels = mlp_arrays()
    rows = np.arange(256)

    def loss(parameters: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        h = anp.maximum(anp.dot(x, w1.T) + b1, 0)
        h = anp.maximum(anp.dot(h, w2.T) + b2, 0)
        logits = anp.dot(h, w3.T) + b3
        logits = logits - anp.max(logits, axis=1, keepdims=True)
        logs = logits - anp.log(anp.sum(anp.exp(logits), axis=1, keepdims=True))
        return -anp.mean(logs[rows, labels])

    gradient = grad(loss)

    def step() -> None:
        for weight, one in zip(layers, gradient(layers), strict=True):
            weight -= 0.01 * one

    return lambda _: {"step": seconds(step)}


def autograd_elementwise() -> Run:
    import autograd.numpy as anp
    from autograd import grad

    x = np.linspace(-3, 3, 1 << 24, dtype=np.float32)
    gradient = grad(lambda v: anp.mean(anp.tanh(v) * (1 / (1 + anp.exp(-v))) + v**2))
    return lambda first: {"peak": peak_above(lambda: gradient(x))} if first else {"step": seconds(lambda: gradient(x))}


def autograd_small_chain() -> Run:
    import autograd.numpy as anp
    from autograd import make_vjp

    def chain(a: Any, b: Any, y: Any) -> Any:
        for _ in range(5000):
            y = y * a + b
        return anp.sum(y)

    values = [np.full(4, value, np.float32) for value in (0.999, 0.001, 1.0)]

    def run(_: bool) -> dict[str, float]:
        made: list[Any] = []
        ahead = seconds(lambda: made.append(make_vjp(chain, argnum=(0, 1, 2))(*values)))
        return {"forward": ahead / 10_000, "backward": seconds(lambda: made[0][0](1.0)) / 10_000}

    return run


OTHERS: dict[tuple[str, str], Callable[[], Run]] = {
    ("numpy", "mlp"): numpy_mlp, ("numpy", "elementwise"): numpy_elementwise, ("autograd", "mlp"): autograd_mlp,
    ("autograd", "elementwise"): autograd_elementwise, ("autograd", "small_chain"): autograd_small_chain,
}
