"""An LSTM predicts a noisy wave; its state is carried from window to window, cut from the history of the window before."""

import torch
from torch import nn

State = tuple[torch.Tensor, torch.Tensor]

torch.manual_seed(0)
wave = torch.sin(torch.arange(0, 40, 0.2)) + 0.05 * torch.randn(200)
windows = wave.unfold(0, 21, 20)


class Predictor(nn.Module):
    """An LSTM and a layer that reads the next value off its state."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor, state: State | None) -> tuple[torch.Tensor, State]:
        """Return the predictions and the state after the window."""
        outputs, state = self.lstm(x, state)
        return self.head(outputs), state


model = Predictor()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
state = None
for number, window in enumerate(windows):
    inputs, targets = window[:-1].view(1, -1, 1), window[1:].view(1, -1, 1)
    predictions, state = model(inputs, state)
    loss = nn.functional.mse_loss(predictions, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = tuple(one.detach() for one in state)
    print(f"window {number}: loss {loss.item():.3f}")
