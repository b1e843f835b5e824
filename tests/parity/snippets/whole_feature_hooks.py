import torch
import torch.nn as nn
from functools import partial


class FeatureExtractor:
    def __init__(self, model, layers):
        self.model = model
        self.features = {}
        self.grads = {}
        self.handles = []
        for name, module in model.named_modules():
            if name in layers:
                self.handles.append(module.register_forward_hook(partial(self._save, name)))
                self.handles.append(module.register_full_backward_hook(partial(self._save_grad, name)))

    def _save(self, name, module, inputs, output):
        self.features[name] = output.detach()

    def _save_grad(self, name, module, gin, gout):
        self.grads[name] = gout[0].detach().clone()

    def remove(self):
        for h in self.handles:
            h.remove()

    def __del__(self):
        self.remove()


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Linear(4 * 16, 3)

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.flatten(1))


torch.manual_seed(0)
m = SmallCNN()
fx = FeatureExtractor(m, ["features.0", "classifier"])
out = m(torch.randn(2, 1, 8, 8))
score = out[:, out.argmax(1)].sum()
score.backward()
w = fx.grads["features.0"].mean(dim=(2, 3), keepdim=True)
cam = (w * fx.features["features.0"]).sum(1).relu()
cam = cam / cam.amax(dim=(1, 2), keepdim=True).clamp(min=1e-8)
print(cam.shape, f"{cam.mean():.5f}", sorted(fx.grads))
fx.remove()
for name, p in m.named_parameters():
    print(name, tuple(p.shape), f"{p.grad.norm():.4f}")
