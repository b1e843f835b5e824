import torch
d = torch.device("cpu", 0)
str(d), repr(d), d.index, d == torch.device("cpu"), d == torch.device("cpu:0"), torch.device("cpu", None) == torch.device("cpu")
torch.ones(2, device=d).device, torch.ones(2).to(d).device
torch.device("cpu", -2)
torch.device("cuda:x")
torch.device("cpu:01")
torch.device("cpu:0", 1)
torch.device("cpu", 1.5)
for name in ("mps", "xpu", "vulkan", "xla"):
    for call in (lambda: torch.ones(1).to(name), lambda: torch.nn.Linear(1, 1).to(name)):
        try:
            call()
        except (AssertionError, RuntimeError) as error:
            print(type(error).__name__, error)
