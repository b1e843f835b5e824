"""Samplers, random_split and loaders with generators of their own: PyTorch's order, and what is drawn besides."""

import random

import pytest

import gradsh

INDICES = """
torch.manual_seed(1)
g = torch.Generator().manual_seed(3)
rows = data.TensorDataset(torch.arange(10.))
"""
LOADER = """
loader = data.DataLoader(rows, batch_size=5, shuffle=True, generator=g)
passes = [[batch[0].tolist() for batch in loader] for _ in range(2)]
"""

PASSES = [
    [[7.0, 4.0, 2.0, 9.0, 1.0], [5.0, 0.0, 8.0, 6.0, 3.0]],
    [[1.0, 2.0, 0.0, 5.0, 9.0], [4.0, 8.0, 3.0, 6.0, 7.0]],
]
"""What PyTorch 2.13 gives."""


def run(text, torch, data, **names):
    scope = {"torch": torch, "data": data, **names}
    exec(INDICES + text, scope)
    return scope


def drawn(scope):
    """Return the next numbers of both generators, which tell how much was drawn from each."""
    torch = scope["torch"]
    return torch.randint(0, 1000, (2,), generator=scope["g"]).tolist(), torch.randint(0, 1000, (2,)).tolist()


def test_a_loader_gives_pytorchs_order_and_draws_what_pytorch_draws():
    scope = run(LOADER, gradsh, gradsh.utils.data)
    assert scope["passes"] == PASSES
    assert drawn(scope) == ([973, 874], [845, 139])


def test_random_split_takes_a_generator():
    scope = run("parts = [list(one.indices) for one in data.random_split(rows, [0.25, 0.25, 0.5], generator=g)]", gradsh, gradsh.utils.data)
    assert scope["parts"] == [[6, 0, 3], [7, 8], [5, 1, 9, 2, 4]]
    assert drawn(scope) == ([739, 514], [845, 139])


@pytest.mark.parametrize(("code", "error"), [
    ("data.RandomSampler([])", "num_samples should be a positive integer value, but got num_samples=0"),
    ("data.random_split(rows, [1.5, -0.5])", "Fraction at index 0 is not between 0 and 1"),
    ("data.WeightedRandomSampler([1.], 0)", "num_samples should be a positive integer value, but got num_samples=0"),
])
def test_wrong_arguments(code, error):
    with pytest.raises(ValueError, match=error):
        run(code, gradsh, gradsh.utils.data)


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(40))
def test_any_sampler_does_what_pytorchs_does(seed):
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch.utils.data")
    draw = random.Random(seed)
    generator = draw.choice(["g", "None"])
    count, size = draw.randint(1, 70), draw.randint(1, 7)
    sampler = draw.choice([
        f"data.RandomSampler(rows, {draw.random() < 0.5}, {count}, {generator})", f"data.RandomSampler(rows, generator={generator})",
        f"data.SubsetRandomSampler([3, 1, 4, 1, 5], {generator})", "data.SequentialSampler(rows)",
        f"data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 3, {draw.random() < 0.5}, {generator})",
    ])
    text = draw.choice([
        f"found = list({sampler})", f"found = list(data.BatchSampler({sampler}, {size}, {draw.random() < 0.5}))",
        f"found = [one[0].tolist() for one in data.DataLoader(rows, {size}, sampler={sampler}, generator={draw.choice(['g', 'None'])})]",
        f"found = iter(data.DataLoader(rows, {size}, shuffle=True, generator={generator})); found = next(found)[0].tolist()",
        f"found = [list(one.indices) for one in data.random_split(rows, [{size}, {10 - size}], generator={generator})]",
    ])
    theirs, ours = run(text, torch, data), run(text, gradsh, gradsh.utils.data)
    assert ours["found"] == theirs["found"], text
    assert drawn(ours) == drawn(theirs), text
