import torch, torch.nn as nn

y = torch.ones(1)
print(torch.get_default_device())
with torch.device("cuda:0"):
    print(torch.get_default_device())
    with torch.device("cpu"):
        print(torch.get_default_device(), torch.ones(1))
    print(torch.ones(1, device="cpu"), torch.zeros_like(y), y.new_zeros(2), y + 1)
    for make in (
        lambda: nn.Linear(1, 2), lambda: torch.rand(2), lambda: torch.tensor(1), lambda: torch.arange(3), lambda: torch.Tensor(2),
        lambda: torch.rand_like(y), lambda: nn.ReLU(), lambda: torch.nn.init.ones_(torch.empty(1)), lambda: nn.BatchNorm1d(2),
    ):
        try:
            make()
            print("made")
        except (AssertionError, RuntimeError) as error:
            print(type(error).__name__, error)
torch.set_default_device("cuda:0")
print(torch.get_default_device())
torch.set_default_device(None)
print(torch.get_default_device(), torch.ones(1).device)
mask = torch.ones(5, dtype=torch.bool)
for call in (lambda: torch.ones(3, 4).masked_fill_(mask, 1.0), lambda: torch.ones(3, 4).masked_fill(mask, 1.0),
             lambda: torch.ones(3, 4).masked_scatter(mask, torch.ones(9))):
    try:
        call()
    except RuntimeError as error:
        print(error)
