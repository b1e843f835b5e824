"""Prints which operations are slow on a million numbers: gradsh beside PyTorch, forward and backward, in one process and on one thread.

`python -m benchmarks.kernels [NAME…] [--above RATIO]`. The calls are those of the records' samples with the extents of all tensors
multiplied by one number, and those below, whose arguments say how large they are.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

for each in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[each] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402

import gradsh  # noqa: E402
from gradsh.engine.dispatch.declare import Within  # noqa: E402
from gradsh.engine.registry import every_operation  # noqa: E402
from gradsh.run.script import prepare  # noqa: E402

SIZE = 1 << 20
LONG, ROUNDS = 0.4, 5
"""Seconds of a call that is made once only; how often others are made."""
ROOT = 1024

PLAIN = """
layer_norm: F.layer_norm(x, (1024,), w, w)
batch_norm: F.batch_norm(image, None, None, c, c, True)
group_norm: F.group_norm(image, 8, c, c)
gather: torch.gather(x, 1, rows)
index: x[picked]
index_select: torch.index_select(x, 0, picked)
take: torch.take(x, rows)
masked: x[mask]
scatter_add: torch.scatter_add(x, 1, rows, y)
index_add: torch.index_add(x, 0, picked, y)
embedding: F.embedding(picked, x)
where: torch.where(mask, x, y)
masked_fill: x.masked_fill(mask, 0.)
conv1d: F.conv1d(line, k1, padding=1)
conv2d: F.conv2d(image, k2, padding=1)
depthwise: F.conv2d(image, k2d, padding=2, groups=64)
conv_transpose2d: F.conv_transpose2d(image, k2)
max_pool2d: F.max_pool2d(image, 2)
avg_pool2d: F.avg_pool2d(image, 2)
attention: F.scaled_dot_product_attention(q, q, q)
adaptive_avg_pool2d: F.adaptive_avg_pool2d(image, 1)
interpolate: F.interpolate(image, scale_factor=2.)
bilinear: F.interpolate(image, scale_factor=2., mode='bilinear')
pad: F.pad(image, (1, 1, 1, 1))
reflect: F.pad(image, (1, 1, 1, 1), mode='reflect')
cross_entropy: F.cross_entropy(x, picked)
dropout: F.dropout(x)
randn: torch.randn(1024, 1024)
rand: torch.rand(1024, 1024)
softmax: x.softmax(1)
softmax_0: x.softmax(0)
sum_0: x.sum(0)
sum_1: x.sum(1)
mean: x.mean()
sort: x.sort(1)
topk: x.topk(10, 1)
transpose: x.t().contiguous()
permute: image.permute(0, 2, 3, 1).contiguous()
bernoulli: torch.bernoulli(x)
solve: torch.linalg.solve(square, x[:256, :256])
cholesky: torch.linalg.cholesky(definite)
inv: torch.linalg.inv(square)
unfold: F.unfold(image, 3)
roll: x.roll(3, 1)
flip: x.flip(1)
cat: torch.cat([x, y], 1)
stack: torch.stack([x, y])
repeat_interleave: x.repeat_interleave(2, 1)
tril: x.tril()
cdist: torch.cdist(x[:, :8], y[:, :8])
diff: x.diff()
bincount: torch.bincount(rows.flatten())
unique: torch.unique(rows)
histc: torch.histc(x)
randperm: torch.randperm(1048576)
prelu: F.prelu(image, c)
one_hot: F.one_hot(picked, 1024)
nll: F.nll_loss(x, picked)
exponential: torch.empty(1048576).exponential_()
searchsorted: torch.searchsorted(ordered, x)
bucketize: torch.bucketize(x, ordered)
einsum: torch.einsum('ij,kj->ik', x[:256], y[:256])
"""


class Call(NamedTuple):
    """A call for both libraries: a function of the library and its tensors, and numpy arrays to make these of."""

    name: str
    function: Callable[[Any, list[Any]], Any]
    arrays: list[Any]


def plain_calls() -> Iterator[Call]:
    """Yield the calls of the table above."""
    rng = np.random.default_rng(0)
    shapes = {
        "x": (ROOT, ROOT), "y": (ROOT, ROOT), "w": (ROOT,), "image": (16, 64, 32, 32), "c": (64,), "line": (16, 64, 1024),
        "k1": (64, 64, 3), "k2": (64, 64, 3, 3), "k2d": (64, 1, 5, 5), "q": (4, 8, 512, 64), "square": (256, 256),
    }
    given = {name: (rng.random(shape) * 0.9 + 0.05).astype(np.float32) for name, shape in shapes.items()}
    given["definite"] = given["square"] @ given["square"].T + 256 * np.eye(256, dtype=np.float32)
    given |= {"rows": rng.integers(0, ROOT, (ROOT, ROOT)), "picked": rng.integers(0, ROOT, ROOT), "mask": rng.random((ROOT, ROOT)) < 0.5}
    given["ordered"] = np.sort(given["w"])
    for line in PLAIN.split("\n")[1:-1]:
        name, _, text = line.partition(": ")
        code = compile(text, name, "eval")
        names = [one for one in given if one in code.co_names]

        def function(T: Any, tensors: list[Any], code: Any = code, names: Any = tuple(names)) -> Any:
            return eval(code, {"torch": T, "F": T.nn.functional, **dict(zip(names, tensors, strict=True))})

        yield Call(name, function, [given[one] for one in names])


def sample_calls() -> Iterator[Call]:
    """Yield the first sample of each overload that both libraries may know, made large."""
    for name, operation in sorted(every_operation().items()):
        space = next((one for one in ("torch", "F", "special", "linalg") if one in operation.spaces), None)
        if space is None or name.startswith("_") or name.endswith("_") or "conv" in name or "pool" in name:
            continue
        for number, record in enumerate(operation.records):
            wanted = [one for one in record.samples if not one[2] and any(shape_of(each) for each in one[0])]
            if wanted and record.kind != "view":
                inputs, options, _ = wanted[0]
                path = {"torch": "", "F": "nn.functional.", "special": "special.", "linalg": "linalg."}[space] + name
                yield made_large(name if not number else f"{name} {number}", path, inputs, options)


def made_large(name: str, path: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Call:
    """Return a sample's call with larger extents, those of 1 excepted."""
    rng = np.random.default_rng(0)
    shapes = [shape for shape in map(shape_of, inputs) if shape]
    factor = 1
    while max(large(shape, factor + 1) for shape in shapes) <= SIZE and factor < SIZE:
        factor += 1
    places, arrays = [], []
    for place, one in enumerate(inputs):
        shape = shape_of(one)
        if shape:
            low, high = (one.low, one.high) if isinstance(one, Within) else (0.05, 0.95)
            extents = [extent * factor if extent > 1 else extent for extent in shape]
            arrays.append((rng.random(extents) * (high - low) + low).astype(np.float32))
            places.append(place)

    def function(T: Any, tensors: list[Any]) -> Any:
        found: Any = T
        for part in path.split("."):
            found = getattr(found, part)
        return found(*(tensors[places.index(place)] if place in places else one for place, one in enumerate(inputs)), **options)

    return Call(name, function, arrays)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of the tensor that an input of a sample stands for."""
    shape = value.shape if isinstance(value, Within) else value
    return shape if type(shape) is tuple and shape and all(type(one) is int for one in shape) else None


def large(shape: tuple[int, ...], factor: int) -> int:
    """Return the elements of a shape whose extents are multiplied."""
    return int(np.prod([float(extent * factor if extent > 1 else extent) for extent in shape]))


def timed(call: Call, T: Any) -> tuple[float, float | None]:
    """Return the fewest seconds of a forward and of its backward (None: there is none)."""
    tensors = [T.from_numpy(one.copy()) for one in call.arrays]
    for one in tensors:
        if one.dtype == T.float32:
            one.requires_grad_()
    ahead, back = [], []
    for _ in range(ROUNDS):
        begun = time.process_time()
        result = call.function(T, tensors)
        ahead.append(time.process_time() - begun)
        result = result[0] if isinstance(result, (tuple, list)) else result
        if isinstance(result, T.Tensor) and result.requires_grad:
            ones = T.ones_like(result)
            begun = time.process_time()
            result.backward(ones)
            back.append(time.process_time() - begun)
        for one in tensors:
            one.grad = None
        if ahead[0] > LONG:
            break
    return min(ahead), min(back, default=None)


def main() -> None:
    """Print the rows whose ratio is above the one asked for, the worst last."""
    parser = argparse.ArgumentParser(prog="benchmarks.kernels", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--above", type=float, default=3.0)
    options = parser.parse_args()
    prepare()
    torch.set_num_threads(1)
    rows, tried = [], 0
    for call in (*plain_calls(), *sample_calls()):
        if options.names and call.name.split()[0] not in options.names:
            continue
        try:
            ours, theirs = timed(call, gradsh), timed(call, torch)
        except Exception as problem:  # noqa: BLE001  # a sample whose arguments do not grow with its tensors
            if options.names:
                print(f"{call.name}: {problem}")
            continue
        for way, own, other in (("forward", ours[0], theirs[0]), ("backward", ours[1], theirs[1])):
            if own is not None and other is not None:
                tried += 1
                rows.append((own / max(other, 1e-6), f"{call.name:32} {way:9} {own * 1e3:9.3f} {other * 1e3:9.3f} ms"))
    shown = [f"{text} {ratio:6.2f}" for ratio, text in sorted(rows) if ratio > options.above or options.names]
    print(*shown, f"{len(shown)} of {tried} above {options.above:g}", sep="\n")


if __name__ == "__main__":
    main()
