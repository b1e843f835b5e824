"""Pruned parameters: masks by value, norm and chance, one upon another, for the whole model, and made for good."""

import torch
from torch import nn
from torch.nn.utils import prune

torch.manual_seed(0)
m = nn.Linear(6, 4)
prune.random_unstructured(m, name="weight", amount=0.3)
print(list(m.named_parameters()), list(m.named_buffers()), m.weight, len(m._forward_pre_hooks))
prune.l1_unstructured(m, name="bias", amount=2)
print(m.bias, len(m._forward_pre_hooks))
prune.ln_structured(m, name="weight", amount=0.5, n=2, dim=0)
print(m.weight)
for hook in m._forward_pre_hooks.values():
    if hook._tensor_name == "weight":
        print([type(h).__name__ for h in hook], type(hook), len(hook))
        break
print(m.state_dict().keys())
m(torch.randn(3, 6)).sum().backward()
print(m.weight_orig.grad, m.bias_orig.grad)
prune.remove(m, "weight")
print(list(m.named_parameters()), len(m._forward_pre_hooks), prune.is_pruned(m))
prune.remove(m, "bias")
print(prune.is_pruned(m), m, type(prune.L1Unstructured(1)))
c = nn.Conv2d(2, 4, 3)
prune.random_structured(c, "weight", amount=1, dim=1)
print(c.weight_mask.sum((0, 2, 3)))
net = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 2))
prune.global_unstructured(((net[0], "weight"), (net[2], "weight")), pruning_method=prune.L1Unstructured, amount=0.4)
print(net[0].weight, net[2].weight_mask)
class EveryOther(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"
    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask
def every_other(module, name):
    EveryOther.apply(module, name)
    return module
n = nn.Linear(3, 4)
every_other(n, name="bias")
print(n.bias_mask, n.bias)
prune.custom_from_mask(n, "weight", torch.tensor([[1, 0, 1]] * 4))
prune.identity(n, "weight")
print(n.weight)
for f in (lambda: prune.remove(nn.Linear(2, 2), "weight"), lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", amount=9), lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", amount=1.5), lambda: prune.random_structured(nn.Linear(2, 2), "bias", amount=1, dim=0), lambda: prune.l1_unstructured(nn.Linear(2, 2), "weigt", amount=1), lambda: prune.ln_structured(nn.Linear(2,2), "weight", 1, 2, 3), lambda: prune.RandomUnstructured("a")):
    try:
        f()
    except Exception as e:
        print(type(e).__name__, e)
p = prune.L1Unstructured(amount=2)
p._tensor_name = "x"
print(p.prune(torch.arange(1., 6.)))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(2, 5)).pow(2).sum().backward()
opt.step()
print(net[0].weight_orig, net(torch.ones(1, 5)), net[0].weight)
