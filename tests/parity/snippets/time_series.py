import torch, torch.nn as nn
torch.manual_seed(0)
class LSTMModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 4, batch_first=True)
        self.fc = nn.Linear(4, 1)
        self.hidden = None
    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return self.fc(out[:, -1, :])
model = LSTMModel()
opt = torch.optim.Adam(model.parameters())
seq = torch.linspace(0, 1, 12).view(3, 4, 1)
for epoch in range(2):
    for i in range(len(seq)):
        opt.zero_grad()
        loss = nn.MSELoss()(model(seq[i:i + 1]), torch.ones(1, 1))
        loss.backward()
        opt.step()
    print(loss)
