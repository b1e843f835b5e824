"""The functions of networks against PyTorch itself: values, saved tensors, graphs, gradients of both orders, errors."""

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")
from torch_compare import compare  # noqa: E402  (needs PyTorch)

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
RANDOM = np.random.default_rng(11)
PROBABLE = RANDOM.uniform(0.05, 0.95, (3, 4))
SIGNS = np.sign(RANDOM.normal(size=(3, 4)))
CLASSES = np.array([1, 0, -100, 4])
WEIGHT = np.array([1, 2, 0.5, 0, 1.0])
LOGARITHMS = np.log(RANDOM.dirichlet(np.ones(4), (5, 2)))
MASK = RANDOM.random((3, 5)) > 0.3
ROWS = {"query": (2, 3, 4), "key": (2, 5, 4), "value": (2, 5, 4)}
HEADS = {"query": (2, 2, 3, 4), "key": (2, 2, 5, 4), "value": (2, 2, 5, 4)}
REDUCTIONS = ("none", "mean", "sum")


def same(code, **arguments):
    problems = compare(code, quiet=True, **arguments)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("code", [
    "F.mse_loss(x, y", "F.l1_loss(x, y", "F.smooth_l1_loss(x, y, beta=0.7", "F.huber_loss(x, y, delta=0.7",
    "F.smooth_l1_loss(x, y, beta=0.0", "F.mse_loss(x, y, weight=y", "F.kl_div(x, y, log_target=True",
])
def test_pointwise_losses(code, reduction):
    same(f"{code}, reduction='{reduction}')", x=(3, 4), y=(3, 4))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("code", [
    "F.binary_cross_entropy(p, q", "F.binary_cross_entropy(p, q, p[0].detach()", "F.kl_div(x, q",
    "F.binary_cross_entropy_with_logits(x, q", "F.binary_cross_entropy_with_logits(x, q, pos_weight=p[0].detach()",
    "F.poisson_nll_loss(x, q", "F.poisson_nll_loss(p, q, log_input=False", "F.gaussian_nll_loss(x, q, p, full=True",
    "F.multilabel_soft_margin_loss(x, q",
])
def test_losses_of_probabilities(code, reduction):
    same(f"{code}, reduction='{reduction}')", x=(3, 4), p=PROBABLE, q=PROBABLE[::-1].copy())


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("code", [
    "F.nll_loss(x, t", "F.nll_loss(x, t, w.detach()", "F.cross_entropy(x, t, w.detach()",
    "F.cross_entropy(x, t, label_smoothing=0.1", "F.cross_entropy(x, t, w.detach(), label_smoothing=0.1",
])
def test_losses_of_classes(code, reduction):
    same(f"{code}, reduction='{reduction}')", x=(4, 5), t=CLASSES, w=WEIGHT)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_losses_of_classes_in_other_shapes(reduction):
    places = RANDOM.integers(0, 5, (2, 3))
    same(f"F.cross_entropy(x, t, reduction='{reduction}')", x=(2, 5, 3), t=places)
    same(f"F.nll_loss(x, t, reduction='{reduction}')", x=(2, 5, 3, 2), t=RANDOM.integers(0, 5, (2, 3, 2)))
    same(f"F.cross_entropy(x, t, reduction='{reduction}')", x=(5,), t=np.array(2))
    same(f"F.cross_entropy(x, t, reduction='{reduction}', label_smoothing=0.1)", x=(4, 5), t=(4, 5))
    same(f"F.nll_loss(x, t, reduction='{reduction}')", x=(4, 5), t=np.full(4, -100))
    same(f"F.nll_loss(x, t, reduction='{reduction}')", x=(0, 5), t=np.zeros(0, np.int64))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("code", "arguments"), [
    ("F.soft_margin_loss(x, t.detach()", {"x": (3, 4), "t": SIGNS}),
    ("F.hinge_embedding_loss(x, t.detach()", {"x": (3, 4), "t": SIGNS}),
    ("F.margin_ranking_loss(x, y, t.detach(), margin=0.3", {"x": (3, 4), "y": (3, 4), "t": SIGNS}),
    ("F.cosine_embedding_loss(x, y, t.detach(), margin=0.1", {"x": (3, 4), "y": (3, 4), "t": SIGNS[:, 0].copy()}),
    ("F.triplet_margin_loss(x, y, z", {"x": (3, 4), "y": (3, 4), "z": (3, 4)}),
    ("F.triplet_margin_loss(x, y, z, swap=True, margin=2.0", {"x": (3, 4), "y": (3, 4), "z": (3, 4)}),
    ("F.multi_margin_loss(x, t", {"x": (3, 5), "t": np.array([0, 1, 4])}),
    ("F.multi_margin_loss(x, t, 2, 0.5, w.detach()", {"x": (3, 5), "t": np.array([0, 1, 4]), "w": WEIGHT}),
    ("F.multilabel_margin_loss(x, t", {"x": (2, 5), "t": np.array([[0, 1, -1, 2, 2], [-1, 0, 0, 0, 0]])}),
    ("F.ctc_loss(x, t, (5, 4), (2, 1)", {"x": LOGARITHMS, "t": np.array([[1, 2], [3, 1]])}),
    ("F.ctc_loss(x, t, (2, 5), (3, 2), zero_infinity=True", {"x": LOGARITHMS, "t": np.array([1, 2, 1, 2, 2])}),
])
def test_margins_and_sequences(code, arguments, reduction):
    same(f"{code}, reduction='{reduction}')", **arguments)


@pytest.mark.parametrize(("code", "arguments"), [
    ("F.conv1d(x, w, b)", {"x": (2, 3, 6), "w": (4, 3, 3), "b": (4,)}),
    ("F.conv1d(x, w, b)", {"x": (3, 6), "w": (4, 3, 3), "b": (4,)}),
    ("F.conv2d(x, w, b, padding=1)", {"x": (2, 3, 5, 5), "w": (4, 3, 3, 3), "b": (4,)}),
    ("F.conv2d(x, w, stride=2)", {"x": (2, 3, 6, 6), "w": (4, 3, 3, 3)}),
    ("F.conv2d(x, w, groups=2, dilation=2)", {"x": (2, 4, 7, 7), "w": (4, 2, 3, 3)}),
    ("F.conv2d(x, w, b, padding='same')", {"x": (1, 3, 5, 5), "w": (4, 3, 2, 3), "b": (4,)}),
    ("F.conv2d(x, w, padding='valid')", {"x": (1, 3, 5, 5), "w": (4, 3, 1, 1)}),
    ("F.conv3d(x, w, b, stride=(1, 2, 1))", {"x": (1, 2, 3, 4, 3), "w": (2, 2, 2, 2, 2), "b": (2,)}),
    ("F.conv_transpose1d(x, w, b, stride=2, groups=3)", {"x": (2, 3, 4), "w": (3, 2, 3), "b": (6,)}),
    ("F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1)",
     {"x": (2, 3, 4, 4), "w": (3, 4, 3, 3), "b": (4,)}),
    ("F.conv_transpose2d(x, w, stride=(3, 2), padding=(1, 2), output_padding=(2, 3), groups=2, dilation=4)",
     {"x": (2, 2, 4, 4), "w": (2, 2, 4, 5)}),
    ("F.unfold(x, (2, 3), 2, 1, 2)", {"x": (2, 6, 7)}),
    ("F.fold(x, (4, 5), (2, 2), 1, 1, 2)", {"x": (8, 9)}),
])
def test_convolutions(code, arguments):
    same(code, **arguments)


@pytest.mark.parametrize(("code", "shape"), [
    ("F.max_pool1d(x, 2)", (2, 3, 6)), ("F.max_pool2d(x, 3, 2, 1)", (3, 7, 6)),
    ("F.max_pool2d(x, 3, 2, 1, 1, True)", (2, 3, 6, 6)), ("F.max_pool3d(x, 2)", (1, 2, 4, 4, 4)),
    ("F.max_pool2d(x, (2, 1), dilation=2, return_indices=True)[0]", (2, 3, 6, 6)),
    ("F.avg_pool1d(x, 2)", (2, 3, 6)), ("F.avg_pool2d(x, 3, 2, 1, True)", (2, 3, 6, 6)),
    ("F.avg_pool2d(x, 3, 2, 1, True, False)", (2, 3, 6, 6)), ("F.avg_pool3d(x, 2, divisor_override=3)", (2, 4, 4, 4)),
    ("F.adaptive_avg_pool1d(x, 3)", (2, 3, 7)), ("F.adaptive_avg_pool2d(x, 2)", (2, 3, 5, 6)),
    ("F.adaptive_avg_pool2d(x, 1)", (2, 3, 5, 6)), ("F.adaptive_avg_pool3d(x, (2, None, 3))", (3, 4, 4, 4)),
    ("F.adaptive_max_pool1d(x, 2)", (2, 3, 5)), ("F.adaptive_max_pool2d(x, 2)", (2, 3, 5, 6)),
    ("F.lp_pool2d(x, 2, 2)", (2, 3, 4, 4)),
    ("F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)", (1, 2, 4, 4)),
    ("F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2)", (1, 2, 5)),
])
def test_pools(code, shape):
    same(code, x=shape)


@pytest.mark.parametrize("data", [
    [[[1.0, 1.0, np.nan, 2.0]]], [[[np.nan, np.nan, -np.inf, -np.inf]]], [[[-np.inf, -np.inf, np.inf, np.inf]]],
])
def test_greatest_values_at_ties_nan_and_infinities(data):
    x = np.array(data)
    same("F.max_pool1d(x, 2, return_indices=True)", x=x)
    same("F.max_pool1d(x, 3, 1, 1)", x=x)
    same("F.adaptive_max_pool1d(x, 2)", x=x)


@pytest.mark.parametrize(("code", "arguments"), [
    ("F.batch_norm(x, None, None, w, b, training=True)", {"x": (4, 3, 5), "w": (3,), "b": (3,)}),
    ("F.batch_norm(x, None, None, training=True)", {"x": (4, 3)}),
    ("F.batch_norm(x, m.detach(), m.detach(), w, b)", {"x": (4, 3, 2), "m": np.array([1, 2, 3.0]), "w": (3,), "b": (3,)}),
    ("F.batch_norm(x, m.detach().clone(), m.detach().clone(), w, training=True)",
     {"x": (4, 3, 2), "m": np.array([1, 2, 3.0]), "w": (3,)}),
    ("m = m.detach().clone(); F.batch_norm(x, m, None, training=True, momentum=0.3); out = m",
     {"x": (4, 3, 2), "m": np.array([1, 2, 3.0])}),
    ("F.layer_norm(x, (4,), w, b)", {"x": (2, 3, 4), "w": (4,), "b": (4,)}),
    ("F.layer_norm(x, (3, 4), w)", {"x": (2, 3, 4), "w": (3, 4)}),
    ("F.group_norm(x, 2, w, b)", {"x": (2, 4, 3), "w": (4,), "b": (4,)}), ("F.group_norm(x, 2)", {"x": (2, 4, 3)}),
    ("F.instance_norm(x, weight=w, bias=b)", {"x": (2, 3, 4), "w": (3,), "b": (3,)}),
    ("F.rms_norm(x, (4,), w)", {"x": (2, 3, 4), "w": (4,)}), ("F.rms_norm(x, (3, 4))", {"x": (2, 3, 4)}),
    ("F.local_response_norm(x, 2)", {"x": (2, 3, 4)}), ("F.local_response_norm(x, 3)", {"x": (2, 3, 4, 2)}),
])
def test_norms(code, arguments):
    same(code, **arguments)


@pytest.mark.parametrize(("code", "shape"), [
    ("F.pad(x, (1, -1, 0, 2), value=3.0)", (2, 3, 4)), ("F.pad(x, (1, 2), mode='reflect')", (2, 3, 4)),
    ("F.pad(x, (1, 2, 0, 1), mode='replicate')", (2, 2, 3, 4)),
    ("F.pad(x, (1, 1, 1, 0, 0, 1), mode='reflect')", (2, 2, 3, 4, 2)),
    ("F.interpolate(x, size=7)", (2, 3, 5)), ("F.interpolate(x, scale_factor=0.6, mode='nearest-exact')", (2, 3, 5)),
    ("F.interpolate(x, scale_factor=1.7, mode='linear', align_corners=True)", (2, 3, 5)),
    ("F.interpolate(x, scale_factor=(1.3, 2.4))", (1, 2, 5, 4)),
    ("F.interpolate(x, size=(3, 7), mode='bilinear')", (1, 2, 5, 4)),
    ("F.interpolate(x, scale_factor=(1.3, 0.7), mode='bicubic')", (1, 2, 5, 4)),
    ("F.interpolate(x, scale_factor=(0.4, 0.7), mode='bicubic', antialias=True)", (1, 2, 5, 4)),
    ("F.interpolate(x, scale_factor=2, mode='trilinear')", (1, 2, 3, 3, 2)),
    ("F.interpolate(x, size=2, mode='area')", (1, 2, 3, 3)),
])
def test_padding_and_resizing(code, shape):
    same(code, x=shape)


@pytest.mark.parametrize(("code", "arguments"), [
    ("F.embedding(i, w)", {"i": np.array([[0, 2, 2], [1, 3, 0]]), "w": (6, 3)}),
    ("F.embedding(i, w, padding_idx=2, scale_grad_by_freq=True)", {"i": np.array([[0, 2, 2], [1, 3, 0]]), "w": (6, 3)}),
    ("F.one_hot(i)", {"i": np.array([[0, 2], [1, 3]])}),
    ("F.embedding_bag(i, w, mode='sum', per_sample_weights=p)",
     {"i": np.array([[0, 1], [2, 2]]), "w": (4, 3), "p": (2, 2)}),
    ("F.embedding_bag(i, w, o, include_last_offset=True, padding_idx=2)",
     {"i": np.array([0, 1, 2, 2, 3]), "w": (4, 3), "o": np.array([0, 2, 5])}),
    ("F.embedding_bag(i, w, o, mode='max')", {"i": np.array([0, 1, 2, 2, 3]), "w": (4, 3), "o": np.array([0, 2, 2])}),
    ("F.pairwise_distance(x, y)", {"x": (3, 4), "y": (3, 4)}),
    ("F.pairwise_distance(x, y, p=1, keepdim=True)", {"x": (3, 4), "y": (4,)}),
    ("F.cosine_similarity(x, y, dim=-1)", {"x": (3, 4), "y": (4,)}), ("F.normalize(x, p=3.0, dim=0)", {"x": (3, 4)}),
    ("F.bilinear(x, y, w, b)", {"x": (2, 3), "y": (2, 4), "w": (5, 3, 4), "b": (5,)}),
])
def test_lookups_and_distances(code, arguments):
    same(code, **arguments)


@pytest.mark.parametrize("rest", ["", ", is_causal=True", ", attn_mask=mask", ", scale=-0.3"])
@pytest.mark.parametrize("inputs", [ROWS, HEADS])
def test_attention(inputs, rest):
    same(f"F.scaled_dot_product_attention(query, key, value{rest})", **inputs, mask=MASK)


def test_attention_with_a_mask_that_learns():
    same("F.scaled_dot_product_attention(query, key, value, attn_mask=mask)", **HEADS, mask=(3, 5))


@pytest.mark.parametrize("code", [
    "F.nll_loss(x, torch.tensor([1, 0, 5]))", "F.nll_loss(x, torch.tensor([1.0, 0.0, 4.0]))",
    "F.nll_loss(x, torch.tensor([1, 0]))", "F.nll_loss(x, torch.tensor([1, 0, 4]), torch.ones(4))",
    "F.nll_loss(x, torch.tensor([1, 0, 4]), reduction='most')", "F.cross_entropy(x, torch.ones(3, 4))",
    "F.cross_entropy(x, torch.tensor([1, 0, 4]), label_smoothing=2.0)", "F.mse_loss(x, torch.ones(2, 5))",
    "F.smooth_l1_loss(x, x, beta=-1.0)", "F.huber_loss(x, x, delta=-1.0)", "F.binary_cross_entropy(x, x)",
    "F.binary_cross_entropy(torch.ones(2), torch.ones(3))", "F.binary_cross_entropy_with_logits(x, torch.ones(5))",
    "F.multi_margin_loss(x, torch.tensor([0, 1]))", "F.multi_margin_loss(x, torch.tensor([0, 1, 7]))",
    "F.batch_norm(x, None, None)", "F.batch_norm(x[:1], None, None, training=True)",
    "F.batch_norm(x, torch.zeros(4), torch.ones(5))", "F.layer_norm(x, (3,))", "F.layer_norm(x, ())", "F.group_norm(x, 2)",
    "F.rms_norm(x, (4,))", "F.local_response_norm(x, 2)", "F.max_pool2d(x, 2)", "F.max_pool1d(x, 3, padding=2)",
    "F.max_pool1d(x, 9)", "F.avg_pool1d(x, 9)", "F.adaptive_avg_pool2d(x, 2)",
    "F.conv1d(x, torch.ones(2, 4, 3))", "F.conv1d(x, torch.ones(2, 3, 9))", "F.conv1d(x, torch.ones(2, 3, 3), padding=-1)",
    "F.conv1d(x, torch.ones(2, 3, 3), stride=0)", "F.conv2d(x, torch.ones(2, 3, 3, 3))",
    "F.conv_transpose1d(x, torch.ones(3, 2, 3), output_padding=1)", "F.embedding(torch.tensor([7]), x)",
    "F.embedding(torch.tensor([1.0]), x)", "F.embedding(torch.tensor([1]), x, padding_idx=6)",
    "F.one_hot(torch.tensor([1, 2]), 2)", "F.one_hot(torch.tensor([1, -2]), 2)", "F.pad(x, (1,))",
    "F.pad(x, (-6, 0))", "F.pad(x, (9, 9), mode='reflect')", "F.pad(x, (1, 1), mode='reflect', value=1.0)",
    "F.interpolate(x)", "F.interpolate(x[None], size=3, mode='bilinear')", "F.interpolate(x[None], size=(3, 3))",
    "F.fold(x, (4, 4), 2)", "F.cosine_embedding_loss(x, x, torch.ones(2, 2))", "F.triplet_margin_loss(x, x, x, margin=0)",
    "F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(3, 3), is_causal=True)",
])
def test_refusals(code):
    same(code, x="float32:3,5")
