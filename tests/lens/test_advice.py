"""Follows what `gradsh trace` advises: the first way that it prints, applied to the program, lets it run to its end on PyTorch."""

from pathlib import Path

import pytest

from gradsh.text.fix import Edit, applied
from tests.lens.traced import run_python, trace

pytestmark = pytest.mark.parity

POLICY = """import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(4, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return F.softmax(self.affine(x), dim=1)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def select_action(state):
    m = Categorical(policy(state.unsqueeze(0)))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    policy_loss = []
    returns = []
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]


def main():
    for episode in range(3):
        state = torch.randn(4)
        for t in range(5):
            policy.rewards.append(float(select_action(state)))
            state = torch.randn(4)
        finish_episode()


if __name__ == "__main__":
    main()
"""
"""Log-probabilities of earlier episodes stay in a list of the policy's; the lists of a call's own carry nothing."""
LANGUAGE_MODEL = """import torch
import torch.nn as nn

kind = "lstm"


class RNNModel(nn.Module):
    def __init__(self, ntoken, nhid):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, nhid)
        self.rnn = nn.LSTM(nhid, nhid, 1)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden)
        return self.decoder(output), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(1, bsz, self.nhid), weight.new_zeros(1, bsz, self.nhid))


model = RNNModel(20, 8)
criterion = nn.CrossEntropyLoss()
data = torch.randint(0, 20, (30, 4))


def train():
    if kind != "transformer":
        hidden = model.init_hidden(4)
    for batch, i in enumerate(range(0, data.size(0) - 1, 5)):
        seq = data[i:i + 5]
        model.zero_grad()
        if kind == "transformer":
            output = model(seq)
            output = output.view(-1, 20)
        else:
            output, hidden = model(seq, hidden)
        loss = criterion(output.view(-1, 20), seq.roll(-1, 0).view(-1))
        loss.backward()


for epoch in range(2):
    train()
"""
"""The state of an LSTM goes from batch to batch; what each pass of the loop binds before it reads it does not."""
WEIGHTS = """import torch

weights = torch.ones(2, requires_grad=True)
scale = torch.ones(2) * weights


def step():
    losses = (scale * weights).exp()
    scale.mul_(2)
    return losses.sum()


step().backward()
"""
"""A function writes into a tensor of the module's: bound in it, the name would be local."""

RUNNING_MEAN = """import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 4)
        self.head = nn.Linear(4, 1)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        h = self.body(x)
        self.mean = 0.9 * self.mean + 0.1 * h.mean(0)
        return self.head(h + self.mean)


def main():
    net = Net()
    total = 0
    for step in range(3):
        loss = net(torch.randn(5, 2)).sum()
        loss.backward()
        total += loss
    print(total)


main()
"""
"""What fails comes through the buffer; the sum keeps the graph, too, and did not bring it to the second backward."""


KEPT_STATE = """import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 3, batch_first=True)
        self.h = None

    def forward(self, x):
        out, self.h = self.rnn(x, self.h)
        return out


net = Net()
for step in range(3):
    net(torch.randn(4, 5, 2)).sum().backward()
"""
"""The state begins as None, in another method: there is nothing to detach before the first step."""


@pytest.mark.parametrize("program", [POLICY, LANGUAGE_MODEL, WEIGHTS, RUNNING_MEAN, KEPT_STATE],
                         ids=["policy", "language model", "weights", "mean", "kept state"])
def test_the_first_way_works(tmp_path: Path, program: str) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "prog.py"
    path.write_text(program, encoding="utf-8")
    (event,) = [one for one in trace("--format", "json", "prog.py", folder=tmp_path).events if one["event"] == "error"]
    fix = event["fixes"][0]
    assert event["help"][0].startswith(fix["words"])
    edits = tuple(Edit(one["line"], one["how"], one["text"]) for one in fix["edits"])
    path.write_text("\n".join(applied(program.split("\n"), edits)[0]), encoding="utf-8")
    assert run_python(path).status == 0, fix["words"]


@pytest.mark.parametrize("body", [
    "y = net(x)\nloss = (y ** 2).sum()\nloss.backward()\nloss.backward()",
    "y = torch.zeros(1, 2)\ny[0, 0] = net(x)[0, 0] ** 2\ny.sum().backward()\ny.sum().backward()",
    "y = net(x)\nloss = 0\nfor row in y:\n    loss += row.pow(2).sum()\nloss.backward()\nloss.backward()",
    "net.weight.relu_().sum().backward()",
    "w = net.weight\nw.sum().backward()\nw -= 0.1 * w.grad\nw.grad.zero_()",
    "net.weight.fill_(0.5)",
], ids=["two steps", "written parts", "a sum in a loop", "a chain", "an update", "a filled parameter"])
def test_each_way_works_without_a_trial(tmp_path: Path, body: str) -> None:
    pytest.importorskip("torch")
    program = f"import torch\n\nnet = torch.nn.Linear(2, 2)\nx = torch.ones(1, 2)\n{body}\n"
    path = tmp_path / "prog.py"
    path.write_text(program, encoding="utf-8")
    (event,) = [one for one in trace("--format", "json", "prog.py", folder=tmp_path).events if one["event"] == "error"]
    ways = [fix for fix in event["fixes"] if fix["edits"]]
    assert ways
    for fix in ways:
        edits = tuple(Edit(one["line"], one["how"], one["text"]) for one in fix["edits"])
        path.write_text("\n".join(applied(program.split("\n"), edits)[0]), encoding="utf-8")
        assert run_python(path).status == 0, fix["words"]


def test_what_each_pass_binds_anew_is_not_detached(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "prog.py").write_text(LANGUAGE_MODEL, encoding="utf-8")
    (event,) = [one for one in trace("--format", "json", "prog.py", folder=tmp_path).events if one["event"] == "error"]
    assert "hidden = tuple(part.detach() for part in hidden)" in event["help"][0]
    assert not any("output" in line for line in event["help"])


def test_what_was_not_tried_is_said(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "prog.py").write_text(LANGUAGE_MODEL, encoding="utf-8")
    assert "note: these fixes were not tried; --fix runs the program again with each" in trace("prog.py", folder=tmp_path).err
    assert "note: these fixes were not tried" not in trace("--fix", "prog.py", folder=tmp_path).err
