"""Whole training steps held against PyTorch's: fifty losses of small nets, with what each step leaves behind."""

import pytest

from tests.api.twin import twin

pytest.importorskip("torch")

NETS = {
    "mlp": ("nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))", "16, 6"),
    "conv": (
        "nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3))", "8, 1, 8, 8"
    ),
    "norm": ("nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))", "16, 6"),
}


@pytest.mark.parametrize("net", NETS)
def test_fifty_steps(net: str) -> None:
    """Classification with SGD: losses, gradients' norms, versions and buffers."""
    module, shape = NETS[net]
    twin(f"""
m = {module}
x = torch.randn({shape})
t = torch.randint(0, 3, (x.shape[0],))
o = optim.SGD(m.parameters(), lr=0.05, momentum=0.9)
for step in range(50):
    o.zero_grad()
    l = nn.CrossEntropyLoss()(m(x), t)
    l.backward()
    o.step()
    note(l.item())
note([p._version for p in m.parameters()], [p.grad._version for p in m.parameters()], list(m.buffers()))
m.eval()
with torch.no_grad():
    note(m(x).sum())
""")


def test_lstm_learns() -> None:
    """An LSTM with Adam and gradient clipping."""
    twin("""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 5, num_layers=2)
        self.head = nn.Linear(5, 1)
    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[-1])
m = Net()
x, y = torch.randn(7, 4, 3), torch.randn(4, 1)
o = optim.Adam(m.parameters(), lr=0.01)
for step in range(30):
    o.zero_grad()
    l = nn.functional.mse_loss(m(x), y)
    l.backward()
    note(l.item(), nn.utils.clip_grad_norm_(m.parameters(), 0.5).item())
    o.step()
note(repr(m))
""")


def test_lstm_twice() -> None:
    """The gradient of a gradient through an LSTM layer."""
    twin("""
m = nn.LSTM(3, 2)
x = torch.randn(4, 2, 3, requires_grad=True)
out, (h, c) = m(x)
(g,) = torch.autograd.grad(out.pow(2).sum() + c.sum(), x, create_graph=True)
g.pow(2).sum().backward()
note(g.detach(), x.grad, [p.grad for p in m.parameters()])
""")


def test_scheduled_groups_and_frozen_parts() -> None:
    """Parameter groups, a frozen layer, a schedule, closures."""
    twin("""
m = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
m[0].requires_grad_(False)
o = optim.SGD([{'params': m[0].parameters()}, {'params': m[2].parameters(), 'lr': 0.2}], lr=0.1)
s = schedulers.StepLR(o, 5, 0.5)
x, y = torch.randn(8, 4), torch.randn(8, 1)
def closure():
    o.zero_grad()
    l = ((m(x) - y) ** 2).mean()
    l.backward()
    return l
for step in range(12):
    note(o.step(closure).item(), [g['lr'] for g in o.param_groups])
    s.step()
note([p.grad is None for p in m.parameters()], [p._version for p in m.parameters()])
""")
