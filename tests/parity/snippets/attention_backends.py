import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close
from torch.utils.checkpoint import CheckpointPolicy

print(SDPBackend.MATH, int(SDPBackend.FLASH_ATTENTION), CheckpointPolicy.MUST_SAVE)
q = torch.randn(1, 2, 3, 4, requires_grad=True)
with sdpa_kernel(SDPBackend.MATH):
    print(F.scaled_dot_product_attention(q, q, q).grad_fn.name())
with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
    print(F.scaled_dot_product_attention(q, q, q).grad_fn.name())
try:
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        F.scaled_dot_product_attention(q, q, q)
except RuntimeError as e:
    print(e)
print(F.scaled_dot_product_attention(q, q, q).grad_fn.name())
try:
    with sdpa_kernel(3):
        pass
except AssertionError as e:
    print(e)
try:
    torch.nn.utils.skip_init(list, 3)
except RuntimeError as e:
    print(e)
for pair in (([1.], [1., 2.]), ({"a": 1}, {"b": 1}), (True, False), (None, None), (None, 1), ("a", "a"), (torch.tensor([True]), torch.tensor([False]))):
    try:
        print(assert_close(*pair))
    except (AssertionError, TypeError) as e:
        print(e)
