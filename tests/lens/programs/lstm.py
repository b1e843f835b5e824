import torch
from torch import nn
torch.manual_seed(3)
text = "hello world, this is a small corpus. " * 20
chars = sorted(set(text)); stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
class CharRNN(nn.Module):
    def __init__(self, vocab, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.emb = nn.Embedding(vocab, hidden)
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab)
    def forward(self, x, state):
        out, state = self.lstm(self.emb(x), state)
        return self.head(out), state
    def init_hidden(self, batch):
        return torch.zeros(1, batch, self.hidden), torch.zeros(1, batch, self.hidden)
model = CharRNN(len(chars))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
seq = 16
hidden = model.init_hidden(1)
for i in range(0, 5 * seq, seq):
    x = data[i:i + seq].unsqueeze(0); y = data[i + 1:i + seq + 1].unsqueeze(0)
    optimizer.zero_grad()
    logits, hidden = model(x, hidden)
    loss = criterion(logits.view(-1, len(chars)), y.view(-1))
    loss.backward()
    optimizer.step()
    print(i, loss.item())
