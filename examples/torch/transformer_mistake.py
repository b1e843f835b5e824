"""The mistake: the attention weights are scaled in place, although softmax saved them for its backward."""

import torch
from torch import nn

torch.manual_seed(0)
LENGTH, DIGITS, WIDTH = 6, 10, 32


class Attention(nn.Module):
    """Self-attention with one head, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix the positions of each sequence."""
        scores = self.query(x) @ self.key(x).transpose(1, 2) / WIDTH**0.5
        weights = scores.softmax(dim=-1)
        weights.mul_(0.9)
        return weights @ self.value(x)


class Block(nn.Module):
    """Attention and a feed-forward net, each added to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        x = x + self.attention(self.norms[0](x))
        return x + self.feed_forward(self.norms[1](x))


class Reverser(nn.Module):
    """Embeds digits and positions, runs the blocks, and scores a digit for each position."""

    def __init__(self) -> None:
        super().__init__()
        self.digits, self.places = nn.Embedding(DIGITS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(WIDTH, DIGITS)

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        """Return the scores of each digit at each position."""
        x = self.digits(sequence) + self.places(torch.arange(LENGTH))
        return self.head(self.blocks(x))


model = Reverser()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(20):
    sequence = torch.randint(DIGITS, (32, LENGTH))
    scores = model(sequence)
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), sequence.flip(1).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(f"step {step}: loss {loss.item():.3f}")
