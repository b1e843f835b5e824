"""Modules held against PyTorch's: repr, versions, initial values, outputs, graphs, gradients."""

import pytest

from tests.api.twin import twin

pytest.importorskip("torch")

CODE = """
m = {module}
x = torch.randn({shape})
x.requires_grad_()
o = m(x)
o = o if isinstance(o, tuple) else (o,)
o = [q for p in o for q in (p if isinstance(p, tuple) else (p,))]
note(repr(m), [p._version for p in m.parameters()], list(m.state_dict().items()), o, [p._version for p in o])
sum((p * p).sum() for p in o).backward()
note([p.grad for p in m.parameters()], x.grad, [b._version for b in m.buffers()], list(m.buffers()))
"""

MODULES = [
    ("nn.RNN(3,2)", "4,2,3"),
    ('nn.RNN(3,2,2,"relu",batch_first=True,bidirectional=True,dropout=.5)', "4,2,3"),
    ("nn.GRU(3,2)", "4,2,3"),
    ("nn.GRU(3,2,num_layers=2,bidirectional=True,bias=False)", "4,2,3"),
    ("nn.LSTM(3,2)", "4,2,3"),
    ("nn.LSTM(3,2,num_layers=2,bidirectional=True,batch_first=True,dropout=.3)", "4,2,3"),
    ("nn.LSTM(3,2,bias=False)", "4,3"),
    ("nn.LSTM(3,4,proj_size=2)", "4,2,3"),
    ("nn.GRU(3,2)", "4,3"),
    ("nn.RNNCell(3,2)", "4,3"),
    ("nn.LSTMCell(3,2)", "4,3"),
    ("nn.GRUCell(3,2)", "4,3"),
    ("nn.GRUCell(3,2)", "3"),
    ('nn.RNNCell(3,2,nonlinearity="relu",bias=False)', "4,3"),
    ("nn.BatchNorm1d(3)", "4,3"),
    ("nn.BatchNorm2d(3,momentum=None)", "4,3,2,2"),
    ("nn.BatchNorm2d(3,affine=False)", "4,3,2,2"),
    ("nn.BatchNorm1d(3,track_running_stats=False).eval()", "4,3,5"),
    ("nn.BatchNorm1d(3).eval()", "4,3"),
    ("nn.LayerNorm(3)", "4,3"),
    ("nn.LayerNorm([4,3],bias=False)", "2,4,3"),
    ("nn.GroupNorm(2,4)", "3,4,5"),
    ("nn.InstanceNorm1d(3)", "2,3,5"),
    ("nn.InstanceNorm2d(3,affine=True,track_running_stats=True)", "2,3,5,4"),
    ("nn.InstanceNorm1d(3)", "3,5"),
    ("nn.RMSNorm(3)", "4,3"),
    ("nn.LocalResponseNorm(2)", "2,4,3,3"),
    ("nn.Linear(3,2)", "4,3"),
    ("nn.Linear(3,2,bias=False)", "4,5,3"),
    ("nn.Conv1d(3,4,2)", "2,3,6"),
    ("nn.Conv2d(3,4,(2,3),stride=2,padding=1,dilation=1)", "2,3,6,7"),
    ('nn.Conv2d(4,4,3,groups=2,padding="same",bias=False)', "2,4,6,7"),
    ('nn.Conv2d(2,4,3,padding=1,padding_mode="reflect")', "1,2,6,7"),
    ('nn.Conv2d(2,4,3,padding=1,padding_mode="circular")', "1,2,6,7"),
    ("nn.Conv3d(2,3,2)", "1,2,3,4,4"),
    ("nn.ConvTranspose2d(3,4,3,stride=2,padding=1,output_padding=1)", "2,3,4,4"),
    ("nn.ConvTranspose1d(3,4,3)", "2,3,4"),
    ("nn.MaxPool1d(2)", "2,3,6"),
    ("nn.MaxPool2d(2,stride=1,padding=1)", "2,3,6,6"),
    ("nn.AvgPool1d(2)", "2,3,6"),
    ("nn.AvgPool2d(2)", "2,3,6,6"),
    ("nn.AdaptiveAvgPool1d(3)", "2,3,7"),
    ("nn.AdaptiveAvgPool2d((3,None))", "2,3,7,5"),
    ("nn.AdaptiveMaxPool2d(2)", "2,3,7,5"),
    ("nn.FractionalMaxPool2d(2,output_size=(3,4))", "2,3,6,7"),
    ("nn.FractionalMaxPool2d((3,2),output_ratio=.5,return_indices=True)", "3,7,6"),
    ("nn.FractionalMaxPool3d(2,output_ratio=(.5,.4,.6))", "2,2,6,5,7"),
    ("nn.LPPool2d(2,2)", "2,3,6,6"),
    ("nn.MaxPool2d(2,ceil_mode=True)", "3,7,7"),
    ("nn.Flatten()", "2,3,4"),
    ("nn.Unflatten(1,(2,3))", "2,6"),
    ("nn.Dropout(.4)", "5,6"),
    ("nn.Dropout(.4).eval()", "5,6"),
    ("nn.Dropout1d(.4)", "5,6,2"),
    ("nn.Dropout2d(.4)", "5,6,2,2"),
    ("nn.Identity()", "3"),
    ("nn.Upsample(scale_factor=2)", "2,3,4"),
    ('nn.Upsample(scale_factor=2,mode="bilinear")', "2,3,4,4"),
    ('nn.Upsample(size=(5,6),mode="bicubic",align_corners=True)', "2,3,4,4"),
    ("nn.UpsamplingBilinear2d(scale_factor=2)", "2,3,4,4"),
    ("nn.PixelShuffle(2)", "1,8,2,2"),
    ("nn.PixelUnshuffle(2)", "1,2,4,4"),
    ("nn.ChannelShuffle(2)", "1,4,2,2"),
    ("nn.Fold((4,5),(2,2))", "1,12,12"),
    ("nn.Unfold(2)", "1,3,4,5"),
    ("nn.ReLU()", "4,6"),
    ("nn.ReLU6()", "4,6"),
    ("nn.Threshold(.1,2.)", "4,6"),
    ("nn.RReLU()", "4,6"),
    ("nn.RReLU().eval()", "4,6"),
    ("nn.Hardtanh()", "4,6"),
    ("nn.Sigmoid()", "4,6"),
    ("nn.Hardsigmoid()", "4,6"),
    ("nn.Tanh()", "4,6"),
    ("nn.SiLU()", "4,6"),
    ("nn.Mish()", "4,6"),
    ("nn.Hardswish()", "4,6"),
    ("nn.ELU()", "4,6"),
    ("nn.CELU(.5)", "4,6"),
    ("nn.SELU()", "4,6"),
    ("nn.GLU()", "4,6"),
    ("nn.GELU()", "4,6"),
    ('nn.GELU("tanh")', "4,6"),
    ("nn.Hardshrink()", "4,6"),
    ("nn.Softshrink()", "4,6"),
    ("nn.LeakyReLU(.2)", "4,6"),
    ("nn.LogSigmoid()", "4,6"),
    ("nn.Softplus(2.)", "4,6"),
    ("nn.Softsign()", "4,6"),
    ("nn.Tanhshrink()", "4,6"),
    ("nn.PReLU()", "4,6"),
    ("nn.PReLU(6)", "4,6"),
    ("nn.Softmax(dim=1)", "4,6"),
    ("nn.LogSoftmax(1)", "4,6"),
    ("nn.Softmin(1)", "4,6"),
    ("nn.Softmax()", "4,6"),
    ("nn.Linear(6,2).double().float()", "4,6"),
    ("nn.ConstantPad1d(1,3.)", "2,3,4"),
    ("nn.ZeroPad2d((1,2,0,1))", "2,3,4,4"),
    ("nn.ReflectionPad1d(2)", "2,3,4"),
    ("nn.ReplicationPad2d(1)", "2,3,4,4"),
    ("nn.CircularPad1d(1)", "2,3,4"),
    ("nn.ReflectionPad2d(1)", "2,3,4,4"),
    ("nn.ZeroPad1d(1)", "2,3"),
]


@pytest.mark.parametrize(("module", "shape"), MODULES)
def test_module(module: str, shape: str) -> None:
    """A module is PyTorch's."""
    twin(CODE.format(module=module, shape=shape))


ATTENTION = """
m = {module}
q = torch.randn({q}, requires_grad=True)
k = torch.randn({k}, requires_grad=True)
o, w = m({call})
note(repr(m), [p._version for p in m.parameters()], o, w)
(o.sum() + (0 if w is None else (w * w).sum())).backward()
note(q.grad, k.grad, [p.grad for p in m.parameters()])
"""
MASK = "attn_mask=nn.Transformer.generate_square_subsequent_mask(3)"
PADDING = "key_padding_mask=torch.tensor([[False, False, True], [False, False, False]])"


@pytest.mark.parametrize(
    ("settings", "q", "k", "call"),
    [
        ("4, 2", "3, 2, 4", "5, 2, 4", "q, k, k"),
        ("4, 2", "3, 2, 4", "5, 2, 4", "q, q, q"),
        ("4, 2, batch_first=True, bias=False", "3, 2, 4", "3, 2, 4", "q, q, q, need_weights=False"),
        ("4, 2, dropout=0.2", "3, 2, 4", "5, 2, 4", "q, k, k * 1"),
        ("4, 2, kdim=3, vdim=3", "3, 2, 4", "5, 2, 3", "q, k, k"),
        ("4, 2, add_bias_kv=True, add_zero_attn=True", "3, 2, 4", "5, 2, 4", "q, k, k, average_attn_weights=False"),
        ("4, 2", "3, 4", "5, 4", "q, k, k"),
        ("4, 2", "3, 2, 4", "5, 2, 4", f"q, q, q, {MASK}, {PADDING}"),
        ("4, 2", "3, 2, 4", "5, 2, 4", f"q, q, q, {MASK}, need_weights=False, is_causal=True"),
    ],
)
def test_attention(settings: str, q: str, k: str, call: str) -> None:
    """MultiheadAttention is PyTorch's, whatever it is given."""
    twin(ATTENTION.format(module=f"nn.MultiheadAttention({settings})", q=q, k=k, call=call))


TRANSFORMER = """
m = {module}
q = torch.randn(3, 2, 4, requires_grad=True)
k = torch.randn({k}, requires_grad=True)
o = m({call})
note(repr(m), [p._version for p in m.parameters()], o)
o.pow(2).sum().backward()
note(q.grad, k.grad, [p.grad for p in m.parameters()])
"""


@pytest.mark.parametrize(
    ("module", "k", "call"),
    [
        ("nn.TransformerEncoderLayer(4, 2, 8)", "3, 2, 4", "q"),
        (
            "nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True, activation='gelu', dropout=0.0)",
            "3, 2, 4", "q",
        ),
        ("nn.TransformerDecoderLayer(4, 2, 8)", "5, 2, 4", "q, k"),
        ("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), 2)", "3, 2, 4", "q"),
        ("nn.Transformer(4, 2, 1, 1, 8, dropout=0.0)", "5, 2, 4", "q, k"),
    ],
)
def test_transformer(module: str, k: str, call: str) -> None:
    """Transformer layers and stacks are PyTorch's."""
    twin(TRANSFORMER.format(module=module, k=k, call=call))


LOSSES = [
    ("nn.MSELoss()", "a, b"), ("nn.MSELoss(reduction='sum')", "a, b"), ("nn.L1Loss()", "a, b"),
        ("nn.SmoothL1Loss(beta=0.5)", "a, b"),
    ("nn.HuberLoss(delta=0.5)", "a, b"), ("nn.CrossEntropyLoss()", "a, t"),
    ("nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]), label_smoothing=0.1, ignore_index=1)", "a, t"),
    ("nn.CrossEntropyLoss()", "a, p"), ("nn.NLLLoss()", "a.log_softmax(1), t"), ("nn.BCELoss()", "a.sigmoid(), p"),
    ("nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0]))", "a, p"),
        ("nn.KLDivLoss(reduction='batchmean')", "a.log_softmax(1), p"),
    ("nn.PoissonNLLLoss()", "a, p"), ("nn.GaussianNLLLoss()", "a, b, p"), ("nn.HingeEmbeddingLoss()", "a, s"),
    ("nn.SoftMarginLoss()", "a, s"), ("nn.MultiLabelSoftMarginLoss()", "a, p"), ("nn.MultiMarginLoss()", "a, t"),
    ("nn.CosineEmbeddingLoss(margin=0.1)", "a, b, torch.tensor([1.0, -1.0, 1.0, -1.0])"),
    ("nn.MarginRankingLoss(margin=0.1)", "a, b, s"), ("nn.TripletMarginLoss()", "a, b, p"),
    ("nn.MSELoss(size_average=False)", "a, b"), ("nn.LinearCrossEntropyLoss(3, 5, weight=torch.ones(5), reduction='sum')", "a, t"),
    ("nn.LinearCrossEntropyLoss(3, 5, out_features=(2,), bias=True)", "a, torch.randint(0, 5, (4, 2))"),
]


@pytest.mark.parametrize(("loss", "call"), LOSSES)
def test_loss(loss: str, call: str) -> None:
    """A loss is PyTorch's."""
    twin(f"""
a = torch.randn(4, 3, requires_grad=True)
b = torch.randn(4, 3)
p = torch.rand(4, 3)
s = torch.sign(torch.randn(4, 3))
t = torch.tensor([0, 2, 1, 2])
m = {loss}
l = m({call})
note(repr(m), l)
l.backward()
note(a.grad, dict(m.state_dict()))
""")
