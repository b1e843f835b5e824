import numpy as np
import torch
import torch.nn as nn

a, x = np.array([1.0, 2.0, 3.0]), torch.ones(3)
for call in (
    lambda: torch.add(2, a), lambda: torch.pow(2, a), lambda: torch.sub(1, a), lambda: torch.div(1, a), lambda: torch.exp(np.float64(2)),
    lambda: torch.sum(np.float64(2)), lambda: torch.pow(2, np.float64(3)), lambda: torch.add(2, np.float64(3)),
    lambda: torch.mul(np.float64(2), np.float64(3)), lambda: torch.zeros(np.int64(2), 3), lambda: torch.tensor(np.float64(2)),
    lambda: torch.add(np.float64(2), x), lambda: torch.arange(np.int64(3)), lambda: torch.sub(np.int32(3), 2),
):
    try:
        print(call())
    except TypeError as error:
        print(str(error).split("(")[0])
w = torch.tensor([[1.5, -0.3, -2.0], [1.0, 2.0, 3.0]])
bag = nn.EmbeddingBag.from_pretrained(w.clone(), False, 1.0, 1, mode="sum", padding_idx=1)
print(bag, bag(torch.tensor([[0, 1]])), bag.weight)
y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
torch.vander(y, 2).sum().backward()
print(torch.vander(y, 0), torch.vander(y, increasing=True))
torch.vander(y, 4).sum().backward()
torch.vander(y, -1)
torch.vander(y[None])
torch.gradient(y, dim=(0, 0))
torch.gradient(torch.tensor([1, 2, 4], dtype=torch.uint8))
