"""The forward and backward sums of the ctc loss, over all samples at once, in logarithms."""


import numpy as np

from gradsh.engine.values.dtype import Array
from gradsh.text.fault import fail


def _extended(targets: Array, target_lengths: tuple[int, ...], blank: int) -> Array:
    """Return (sample, 2 * longest + 1): each sample's labels with blanks before, between and after."""
    lengths = np.array(target_lengths, np.int64)
    longest = int(lengths.max()) if lengths.size else 0
    found = np.full((lengths.size, 2 * longest + 1), blank, np.int64)
    start = 0
    for place, length in enumerate(lengths):
        labels = targets[place, :length] if targets.ndim == 2 else targets[start : start + length]
        found[place, 1 : 2 * length : 2] = labels
        start += int(length)
    return found


def _check(
    log_probs: Array, targets: Array, input_lengths: tuple[int, ...], target_lengths: tuple[int, ...], blank: int
) -> None:
    batch = log_probs.shape[1]
    if log_probs.dtype.kind != "f":
        raise fail("dtype", "ctc_loss: log_probs must be floating point", RuntimeError)
    if not 0 <= blank < log_probs.shape[2]:
        raise fail("value", "blank must be in label range", RuntimeError)
    if len(input_lengths) != batch:
        message = f"Expected input_lengths to have size equal to batch_size. Got {len(input_lengths)} and {batch}"
        raise fail("shape", message, RuntimeError)
    if len(target_lengths) != batch:
        message = f"Expected target_lengths to have size equal to batch_size. Got {len(target_lengths)} and {batch}"
        raise fail("shape", message, RuntimeError)
    if any(n > log_probs.shape[0] for n in input_lengths):
        worst = max(input_lengths)
        message = (
            f"Expected input_lengths to have value at most {log_probs.shape[0]}, but got value {worst} (while checking "
            "arguments for ctc_loss_cpu)"
        )
        raise fail("value", message, RuntimeError)


def _steps(labels: Array, blank: int) -> Array:
    """Return where a step may skip the blank before: at a label that differs from the one before it."""
    skips = np.zeros(labels.shape, np.bool_)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return skips


def _shifted(values: Array, by: int) -> Array:
    found = np.full_like(values, -np.inf)
    if by < values.shape[1]:
        found[:, by:] = values[:, : values.shape[1] - by]
    return found


def _log_sum(*terms: Array) -> Array:
    top = np.maximum.reduce(terms)
    safe = np.where(np.isneginf(top), 0, top)
    return np.log(sum(np.exp(term - safe) for term in terms)) + safe


def ctc_forward(
    log_probs: Array, targets: Array, input_lengths: tuple[int, ...], target_lengths: tuple[int, ...], blank: int
) -> tuple[Array, Array]:
    """Return the negative log likelihoods and the forward sums (sample, time, extended label)."""
    if targets.ndim == 1 and log_probs.shape[1] == 1 and len(target_lengths) == 1:
        targets = targets.reshape(-1)
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    labels = _extended(targets, target_lengths, blank)
    time, batch = log_probs.shape[:2]
    alpha = np.full((batch, time, labels.shape[1]), -np.inf, log_probs.dtype)
    lines = np.arange(batch)
    skips = _steps(labels, blank)
    for step in range(time):
        emitted = np.take_along_axis(log_probs[step], labels, 1)
        if step == 0:
            alpha[:, 0, :2] = emitted[:, :2]
            if labels.shape[1] > 1:
                alpha[:, 0, 1] = np.where(np.array(target_lengths) > 0, emitted[:, 1], -np.inf)
            continue
        before = alpha[:, step - 1]
        skipped = np.where(skips, _shifted(before, 2), -np.inf)
        alpha[:, step] = _log_sum(before, _shifted(before, 1), skipped) + emitted
    ends = 2 * np.array(target_lengths, np.int64)
    last = np.array(input_lengths, np.int64) - 1
    final = alpha[lines, last, ends]
    other = np.where(ends > 0, alpha[lines, last, np.maximum(ends - 1, 0)], -np.inf)
    return np.asarray(-_log_sum(final, other), log_probs.dtype), alpha


def ctc_backward(
    grad: Array, log_probs: Array, targets: Array, input_lengths: tuple[int, ...], target_lengths: tuple[int, ...],
    neg_log_likelihood: Array, log_alpha: Array, blank: int, zero_infinity: bool,
) -> Array:
    """Return the gradient by the log probabilities, which are taken to come from a log_softmax."""
    labels = _extended(targets, target_lengths, blank)
    time, batch, classes = log_probs.shape
    lines = np.arange(batch)
    lengths = np.array(input_lengths, np.int64)
    ends = 2 * np.array(target_lengths, np.int64)
    skips = _steps(labels, blank)
    inside = np.arange(labels.shape[1]) <= ends[:, None]
    result = np.zeros_like(log_probs)
    beta = np.full(labels.shape, -np.inf, log_probs.dtype)
    likelihood = neg_log_likelihood[:, None]
    for step in range(time - 1, -1, -1):
        emitted = np.take_along_axis(log_probs[step], labels, 1)
        ahead = np.where(skips, beta, -np.inf)[:, ::-1]
        stepped = _log_sum(beta, _shifted(beta[:, ::-1], 1)[:, ::-1], _shifted(ahead, 2)[:, ::-1]) + emitted
        start = np.full(labels.shape, -np.inf, log_probs.dtype)
        start[lines, ends] = emitted[lines, ends]
        start[lines[ends > 0], ends[ends > 0] - 1] = emitted[lines[ends > 0], ends[ends > 0] - 1]
        beta = np.where((lengths - 1 == step)[:, None], start, np.where((lengths > step)[:, None], stepped, -np.inf))
        beta = np.where(inside, beta, -np.inf)
        both = log_alpha[:, step] + beta
        share = np.zeros((batch, classes), log_probs.dtype)
        weight = np.exp(both + likelihood - emitted)
        weight = np.where(np.isneginf(both), 0, weight)
        np.add.at(share, (np.broadcast_to(lines[:, None], labels.shape), labels), weight)
        slope = np.exp(log_probs[step]) - share
        result[step] = np.where((lengths > step)[:, None], slope, 0) * grad[:, None]
    if zero_infinity:
        result[:, np.isinf(neg_log_likelihood)] = 0
    return result
