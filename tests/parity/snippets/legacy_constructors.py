import numpy as np
import torch
for make in (torch.Tensor, torch.FloatTensor, torch.ones(3).new):
    array = np.array([1, 2], dtype=np.float32)
    shared = make(array)
    shared[0] = 9
    print(array)
    leaf = torch.ones(2, requires_grad=True)
    print(make(leaf), make(leaf * 2), make(torch.Size([2])).shape, make(2, 3).shape, make((1, 2)), make(range(3)))
    for wrong in (2.5, None, {1}, True, "ab", [1, "a"], [None], ["a"], [[1, 2], 3], [1, [2, 3]], torch.arange(2), np.arange(3.0)[::-1]):
        try:
            print(make(wrong))
        except Exception as e:
            print(type(e).__name__, e)

for wrong in ([1, None], [{}], None, np.arange(3)[::-1]):
    for make in (torch.LongTensor, torch.tensor, torch.as_tensor, torch.from_numpy):
        try:
            print(make(wrong))
        except Exception as e:
            print(type(e).__name__, e)

x = torch.arange(3)
print(x.type(torch.Tensor), x.type("torch.Tensor"))
for wrong in (torch.nn.Parameter, str, "float"):
    try:
        x.type(wrong)
    except Exception as e:
        print(e)

for call in (torch.rand, torch.randn, torch.randint, lambda: torch.sum([1], (2,)), lambda: x.std([1.5], 1, 2), lambda: x.new([1], [2])):
    try:
        call()
    except TypeError as e:
        print(str(e).split("\n")[0])

for call in (lambda: x.round(3), lambda: x.sin(1), lambda: x.float().logit(1, 2)):
    try:
        call()
    except TypeError as e:
        print(e)

for mean in (torch.zeros(3, dtype=torch.long), torch.ones(3), torch.ones(3, dtype=torch.float64)):
    for std in (torch.arange(3), torch.ones(3) * 0.3, torch.ones(3, dtype=torch.float64) * 0.7):
        try:
            print(torch.normal(mean, std))
        except NotImplementedError as e:
            print(e)
