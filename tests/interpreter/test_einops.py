"""einops: the values, the operations and the sentences of einops 0.8 with PyTorch."""

import pytest

HEAD = (
    "import torch\nfrom einops import einsum, pack, rearrange, reduce, repeat, unpack\nfrom einops.layers.torch import Rearrange, Reduce\n"
    "x = torch.arange(144.).reshape(2, 6, 4, 3).requires_grad_()\n"
)
SAME = [
    ("rearrange(x, 'b c h w -> b (h w) c')", "x.permute(0, 2, 3, 1).reshape(2, 12, 6)"),
    ("rearrange(x, 'b (g c) h w -> (b g) c (h w)', g=3)", "x.reshape(2, 3, 2, 4, 3).reshape(6, 2, 12)"),
    ("rearrange(x, 'b ... -> b (...)')", "x.flatten(1)"),
    ("rearrange(x, '... w -> w ...')", "x.permute(3, 0, 1, 2)"),
    ("rearrange([x, x], 'n b c h w -> b n c h w')", "torch.stack([x, x]).permute(1, 0, 2, 3, 4)"),
    ("rearrange(x, 'b c h w -> b 1 c h w')", "x[:, None]"),
    ("reduce(x, 'b c h w -> b c () ()', 'mean')", "x.mean((2, 3), keepdim=True)"),
    ("reduce(x, 'b c (h h2) w -> b h c', 'max', h2=2)", "x.reshape(2, 6, 2, 2, 3).permute(0, 2, 1, 3, 4).amax((3, 4))"),
    ("reduce(x, 'b c (h 2) w -> b h c w', 'sum')", "x.reshape(2, 6, 2, 2, 3).permute(0, 2, 1, 4, 3).sum(4)"),
    ("repeat(x, 'b c h w -> b c (h 2) (w k)', k=3)", "x.repeat_interleave(2, 2).repeat_interleave(3, 3)"),
    ("repeat(x[0, 0, 0], 'd -> b n d', b=2, n=3)", "x[0, 0, 0].expand(2, 3, 3)"),
    ("einsum(x, x, 'b c height w, b d height w -> b c d')", "torch.einsum('bchw,bdhw->bcd', x, x)"),
    ("pack([x, x[:, 0]], 'b * w')[0]", "torch.cat([x.reshape(2, 24, 3), x[:, 0]], 1)"),
    ("unpack(x, [[2], [-1]], 'b * h w')[1]", "x[:, 2:]"),
    ("torch.nn.Sequential(Rearrange('b c h w -> b (c h w)'), Reduce('b d -> d', 'sum'))(x)", "x.flatten(1).sum(0)"),
]


@pytest.mark.parametrize(("written", "meant"), SAME, ids=[row[0] for row in SAME])
def test_a_pattern_has_the_values_of_the_operations(script, written, meant):
    script.run(f"{HEAD}a, b = {written}, {meant}\nprint(a.shape == b.shape, torch.equal(a, b), a.requires_grad)\n")
    assert (script.output, script.failures) == ("True True True\n", [])


def test_the_operations_are_those_that_einops_calls(script):
    walk = "node = y.grad_fn\nwhile node:\n    print(node.name())\n    node = node.next_functions[0][0] if node.next_functions else 0\n"
    script.run(f"{HEAD}y = repeat(rearrange(x, 'b c h w -> b (h w) c'), 'b n c -> b (n k) c', k=2)\n{walk}")
    assert script.output.split() == [
        "UnsafeViewBackward0", "CloneBackward0", "ExpandBackward0", "UnsqueezeBackward0", "ReshapeAliasBackward0", "PermuteBackward0",
        "torch::autograd::AccumulateGrad",
    ]


def test_modules_show_their_patterns(script):
    script.run(f"{HEAD}print(Rearrange('b (c d) -> b c d', d=2), Reduce('b c -> b', 'mean'))\n")
    assert script.output == "Rearrange('b (c d) -> b c d', d=2) Reduce('b c -> b', 'mean')\n"


@pytest.mark.parametrize(("call", "said"), [
    ("rearrange(x, 'b c h -> b c h')", "Wrong shape: expected 3 dims. Received 4-dim tensor."),
    ("rearrange(x, 'b (c g) h w -> b c g h w', g=4)", "Shape mismatch, can't divide axis of length 6 in chunks of 4"),
    ("rearrange(x, 'b c h w -> b c h')", "Identifiers only on one side of expression (should be on both): {'w'}"),
    ("repeat(x, 'b c h w -> b c h w n')", "Specify sizes for new axes in repeat: {'n'}"),
    ("reduce(x, 'b c h w -> b', 'median')", "Unknown reduction median"),
    ("rearrange(x, 'b c h w -> b c (h w)', h=2.5)", "Lengths of axes are integers, not float"),
])
def test_what_does_not_fit_is_told(script, call, said):
    script.run(HEAD + call)
    assert said in script.failure.problem.message
