"""A GAN learns a ring of points: the discriminator's step sees a detached fake, the generator's step a live one."""

import math

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_discriminator = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
judge = nn.BCEWithLogitsLoss()
yes, no = torch.ones(32, 1), torch.zeros(32, 1)


def ring() -> torch.Tensor:
    """Return real points."""
    angle = torch.rand(32) * 2 * math.pi
    return torch.stack((angle.cos(), angle.sin()), 1)


for step in range(10):
    fake = generator(torch.randn(32, 4))

    of_discriminator.zero_grad()
    loss_d = judge(discriminator(ring()), yes) + judge(discriminator(fake.detach()), no)
    loss_d.backward()
    of_discriminator.step()

    of_generator.zero_grad()
    loss_g = judge(discriminator(fake), yes)
    loss_g.backward()
    of_generator.step()
    if step % 5 == 4:
        print(f"step {step}: discriminator {loss_d.item():.3f}, generator {loss_g.item():.3f}")
