import torch
from torch.func import rearrange

torch.manual_seed(0)
x = torch.randn(4, 6, 8, 2, requires_grad=True)
flat = rearrange(x, "a b c d -> (a b c d)")
parts = rearrange(x, "a (b h) (c w) d -> a b c (d h w)", h=2, w=2)
turned = rearrange(x, "a b ... -> ... b a")
wide = rearrange(x, "a ... -> 1 a (...) ()")
split = rearrange(x[1], "(two b) c d -> two b c d", two=2)
summed = rearrange(x[:, :1], "a 1 b c -> c (a b)")
joined = rearrange([x[0], x[1]], "n a b c -> a (n b) c")
loss = (flat.sum() + parts.pow(2).sum() + turned[0].sum() + wide.mean() + split.exp().sum() + summed.max() + joined.sum())
loss.backward()
scalar = rearrange(torch.tensor(3.0), "->")
for pattern, lengths in [
    ("a b", {}), ("a b -> a", {}), ("a b c -> a b c", {}), ("a a -> a", {}), ("(a b -> a b", {}), ("a) b -> a b", {}), ("((a) b) -> a b", {}),
    ("a b -> a b 2", {}), ("a. -> a", {}), ("... ... -> a", {}), ("(...) -> ...", {}), ("a b -> a b ...", {}), ("_a -> _a", {}), ("a! -> a!", {}),
    ("a b -> b a", {"c": 1}), ("a b -> b a", {"a": 1.0}), ("a ... b c -> a ... b c", {}), ("1a b -> 1a b", {}), ("0 a -> 0 a", {}),
]:
    try:
        print(rearrange(torch.ones(3, 4), pattern, **lengths).shape)
    except (ValueError, TypeError) as error:
        print(pattern, type(error).__name__, error)
