"""Layers as programs train them, with PyTorch's names: both libraries draw the same parameters from one seed. `T` is the library."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import seconds
from benchmarks.workloads import Run, gradients, tensor_of


def trained(T: Any, module: Any, result: Callable[[Any], Any], shape: tuple[int, ...]) -> Run:
    """Forward and backward of a module whose result has the shape of its input.

    The result is multiplied by numbers of both signs: many layers have gradients of zero for its sum.
    """
    rng = np.random.default_rng(0)
    x, weight = (tensor_of(T, rng.standard_normal(shape).astype(np.float32), grad) for grad in (True, False))
    leaves = [x, *module.parameters()]

    def step() -> None:
        for leaf in leaves:
            leaf.grad = None
        (result(x) * weight).sum().backward()

    return lambda first: {"step": seconds(step)} | gradients(first, leaves)


def transformer(T: Any) -> Run:
    """A transformer's encoder layer, d 256 with 8 heads, on 8 sequences of 64."""
    T.manual_seed(0)
    layer = T.nn.TransformerEncoderLayer(256, 8, dim_feedforward=1024, dropout=0.0, batch_first=True)
    return trained(T, layer, layer, (8, 64, 256))


def resnet(T: Any) -> Run:
    """A residual block of two 3x3 convolutions with batch norm, on 8 images of 64x32x32."""
    T.manual_seed(0)
    conv1, conv2 = (T.nn.Conv2d(64, 64, 3, padding=1, bias=False) for _ in range(2))
    norm1, norm2 = (T.nn.BatchNorm2d(64) for _ in range(2))
    layers = T.nn.ModuleList([conv1, norm1, conv2, norm2])
    return trained(T, layers, lambda x: T.relu(norm2(conv2(T.relu(norm1(conv1(x))))) + x), (8, 64, 32, 32))


def lstm(T: Any) -> Run:
    """An LSTM layer of 128 on 50 steps of batch 32."""
    T.manual_seed(0)
    layer = T.nn.LSTM(128, 128)
    return trained(T, layer, lambda x: layer(x)[0], (50, 32, 128))


def classes(T: Any) -> Run:
    """An embedding of 10,000 words in 128 numbers, a linear layer back to them, and the cross-entropy of 256 words."""
    rng = np.random.default_rng(0)
    T.manual_seed(0)
    words, layer = T.nn.Embedding(10_000, 128), T.nn.Linear(128, 10_000)
    given, wanted = (T.from_numpy(rng.integers(0, 10_000, 256)) for _ in range(2))
    leaves = [*words.parameters(), *layer.parameters()]

    def step() -> None:
        for leaf in leaves:
            leaf.grad = None
        T.nn.functional.cross_entropy(layer(words(given)), wanted).backward()

    return lambda first: {"step": seconds(step)} | gradients(first, leaves)


LAYERS: dict[str, Callable[[Any], Run]] = {one.__name__: one for one in (transformer, resnet, lstm, classes)}
