"""Linear and cross entropy at once make what their operations make one by one: values, nodes, saved tensors, gradients."""

import numpy as np
import pytest

import gradsh
from gradsh.ops import class_loss, matmul

RANDOM = np.random.default_rng(6)


def operands(dtype, trainable, turned=False):
    shapes = ((2, 3), (4, 3), (4,))
    arrays = [RANDOM.standard_normal(shape).astype(dtype) for shape in shapes]
    if turned:
        arrays = [np.asarray(one, order="F") for one in arrays]
    tensors = [gradsh.from_numpy(one) for one in arrays]
    return [tensor.requires_grad_() if wanted else tensor for tensor, wanted in zip(tensors, trainable, strict=True)]


def facts(result, leaves):
    """Tell all that can be seen of a graph, and what a pass through it gives."""
    told = [result.tolist(), result.stride(), result.dtype, result._version, result.requires_grad]
    nodes = [result.grad_fn]
    numbers = []
    while nodes:
        node = nodes.pop()
        if node is None or node.name() == "torch::autograd::AccumulateGrad":
            told.append(None if node is None else [place for place, one in enumerate(leaves) if one is node.variable])
            continue
        numbers.append(node._sequence_nr())
        told.append((
            node.name(), node.outputs, list(node.attributes().items()),
            [(one.name, one.shape, one.version, one.nbytes) for one in node.saved],
        ))
        nodes += [one for one, _ in node.next_functions]
    told.append([number - min(numbers) for number in numbers])
    result.backward(gradsh.ones(tuple(result.shape), dtype=result.dtype))
    told.append([None if one.grad is None else (one.grad.tolist(), one.grad.stride(), one.grad._version) for one in leaves])
    told.append([(one.name, one.freed) for one in result.grad_fn.saved])
    return told


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trainable", [(1, 1, 1), (0, 1, 1), (0, 1, 0), (1, 1, 0)])
def test_both_ways_agree(monkeypatch, dtype, trainable, turned):
    leaves = operands(dtype, trainable, turned)
    at_once = facts(gradsh.nn.functional.linear(*leaves), leaves)
    for leaf in leaves:
        leaf.grad = None
    monkeypatch.setattr(matmul, "linear_at_once", lambda *_: None)
    assert facts(gradsh.nn.functional.linear(*leaves), leaves) == at_once


def test_what_is_not_plain_is_left_to_the_operations(monkeypatch):
    asked = []
    real = matmul.linear_at_once

    def watched(*arguments):
        asked.append(real(*arguments))
        return asked[-1]

    monkeypatch.setattr(matmul, "linear_at_once", watched)
    linear = gradsh.nn.functional.linear
    x, w, b = operands(np.float32, (0, 1, 1))
    with gradsh.no_grad():
        linear(x, w, b)
    linear(x, w.detach(), b)
    linear(x, w)
    linear(x[0], w, b)
    linear(x[None], w, b)
    with gradsh.autograd.graph.saved_tensors_hooks(lambda one: one, lambda one: one):
        linear(x, w, b)
    for wrong in ((x, w, b[:2]), (x[:, :2], w, b), (x.double(), w, b)):
        with pytest.raises(RuntimeError):
            linear(*wrong)
    assert asked == [None] * 9
    assert linear(x, w, b) is asked[-1]


def test_a_weight_written_before_the_pass_is_told(monkeypatch):
    messages = []
    for way in (matmul.linear_at_once, lambda *_: None):
        monkeypatch.setattr(matmul, "linear_at_once", way)
        x, w, b = operands(np.float32, (1, 1, 1))
        y = gradsh.nn.functional.linear(x, w, b)
        with gradsh.no_grad():
            w.add_(1)
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "is at version 1; expected version 0" in messages[0]


def test_the_result_stays_within_the_limit_of_memory():
    from gradsh.engine.ambient import current

    x, w, b = operands(np.float32, (0, 1, 1))
    sizes = []
    current().check = sizes.append
    try:
        gradsh.nn.functional.linear(x, w, b)
    finally:
        current().check = None
    assert max(sizes) == 2 * 4 * 4


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ignored", [-100, 2])
def test_both_ways_of_cross_entropy_agree(monkeypatch, reduction, dtype, ignored):
    scores = gradsh.from_numpy(RANDOM.standard_normal((5, 4)).astype(dtype)).requires_grad_()
    target = gradsh.tensor([0, 3, 2, 2, 1])
    made = []
    real = class_loss.cross_entropy_at_once
    for way in (lambda *given: made.append(real(*given)) or made[-1], lambda *_: None):
        monkeypatch.setattr(class_loss, "cross_entropy_at_once", way)
        scores.grad = None
        loss = gradsh.nn.functional.cross_entropy(scores * 1, target, reduction=reduction, ignore_index=ignored)
        made.append(facts(loss, [scores]))
    assert made[0] is not None
    assert made[1] == made[2]


def test_other_cross_entropies_are_left_to_the_operations(monkeypatch):
    asked = []
    real = class_loss.cross_entropy_at_once
    monkeypatch.setattr(class_loss, "cross_entropy_at_once", lambda *given: asked.append(real(*given)) or asked[-1])
    loss = gradsh.nn.functional.cross_entropy
    scores, target = gradsh.randn(3, 4, requires_grad=True), gradsh.tensor([0, 1, 3])
    loss(scores, target, weight=gradsh.ones(4))
    loss(scores, target, label_smoothing=0.1)
    assert asked == []
    loss(scores.detach(), target)
    loss(scores[0], target[0])
    loss(scores[None].transpose(1, 2), target[None])
    with gradsh.no_grad():
        loss(scores, target)
    with gradsh.autograd.graph.saved_tensors_hooks(lambda one: one, lambda one: one):
        loss(scores, target)
    for wrong, error in ((gradsh.tensor([0, 1]), ValueError), (gradsh.tensor([0, 1, 3], dtype=gradsh.int32), RuntimeError)):
        with pytest.raises(error):
            loss(scores, wrong)
    assert asked == [None] * 7
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        loss(scores, gradsh.tensor([0, 1, 4]))
    assert asked == [None] * 7
