import torch

class Particle:
    count = 0
    def __init__(self, dim, bounds=(-5, 5)):
        self.position = torch.empty(dim).uniform_(*bounds).requires_grad_()
        self.velocity = torch.zeros(dim)
        Particle.count += 1
        self.id = Particle.count
    @property
    def energy(self):
        return (self.position ** 2).sum() + 0.5 * (self.velocity ** 2).sum()
    def __lt__(self, other):
        return self.energy.item() < other.energy.item()
    def step(self, lr):
        e = self.energy
        e.backward()
        self.position -= lr * self.position.grad
        self.position.grad.zero_()
        return e.item()

torch.manual_seed(1)
swarm = [Particle(3) for _ in range(4)]
best = min(swarm)
print("best", best.id, f"{best.energy.item():.4f}")
for it in range(3):
    total = sum(p.step(0.1) for p in swarm)
    print(it, total)
