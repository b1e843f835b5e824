import torch, torch.nn as nn
from torch.nn.utils.rnn import *
torch.manual_seed(0)
for cls in (nn.RNN, nn.GRU, nn.LSTM):
    for bid in (False, True):
        net = cls(3, 4, 2, bidirectional=bid, batch_first=True)
        x = torch.randn(4, 5, 3, requires_grad=True)
        p = pack_padded_sequence(x, torch.tensor([2, 5, 3, 5]), batch_first=True, enforce_sorted=False)
        o, h = net(p)
        u, l = pad_packed_sequence(o, batch_first=True, padding_value=-1)
        (u.pow(2).sum()).backward()
        print(cls.__name__, bid, u.shape, l, o.data.grad_fn.name(), p.data.grad_fn.name(), u.grad_fn.name())
        print(x.grad.abs().sum(), net.weight_hh_l0.grad.abs().sum(), (h[0] if isinstance(h, tuple) else h).sum())
        def names(f, seen):
            if f is None or f in seen: return
            seen.append(f)
            for g, _ in f.next_functions: names(g, seen)
        seen = []
        names(u.grad_fn, seen)
        print([type(f).__name__ for f in seen])
q = pack_sequence([torch.randn(n, 2) for n in (4, 2, 1)])
print(q)
print(unpack_sequence(q)[1], 1, p.data.grad_fn._saved_batch_first)
try:
    pack_padded_sequence(torch.randn(3, 2, 1), [1, 3])
except RuntimeError as e:
    print(e)
a = torch.randn(4, 2, 1, requires_grad=True, dtype=torch.float64)
print(torch.autograd.gradgradcheck(lambda a: pack_padded_sequence(a, [4, 2]).data ** 2, a))
