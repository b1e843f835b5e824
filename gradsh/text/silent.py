"""`explain silent`: mistakes for which nothing fails, why autograd does not notice them, and how each is written rightly.

The example makes one of them; every way runs without an error and without a hint.
"""

from gradsh.text.kind import Kind, Recipe

_NET = "net = nn.Linear(2, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"

SILENT = Kind(
    "silent",
    "mistakes that raise no error: `gradsh run --hints` and the shell show a hint for each",
    (),
    "Autograd checks only that a saved tensor is not freed and that its version has not changed since the forward."
    " It does not know which gradients should add up, which parameters an optimizer has, or what the mode of a module means."
    " `.data` has its own version, so a write through it changes a saved tensor unnoticed. Every backward adds to `.grad` until"
    " it is reset. `eval()` changes dropout and batch norm; operations are still recorded.",
    "x = torch.ones(2, requires_grad=True)\nh = x.exp()\nloss = (h * h).sum()\nh.data.mul_(2)\nloss.backward()\n",
    (
        Recipe("Write a new tensor instead of writing through `.data`: the saved tensor is not changed.",
            "x = torch.ones(2, requires_grad=True)\nh = x.exp()\nloss = (h * h).sum()\nh = h * 2\nloss.backward()\n"),
        Recipe("Clone the result of `.detach()` before writing to it: it shares the storage of the tensor.",
            "x = torch.ones(2, requires_grad=True)\ncopy = x.detach().clone()\ncopy += 1\n(x * 2).sum().backward()\n"),
        Recipe("Reset gradients before the backward of each update; several backwards for one update add up on purpose.",
            f"{_NET}for step in range(3):\n    opt.zero_grad()\n    net(torch.ones(4, 2)).pow(2).mean().backward()\n    opt.step()\n"),
        Recipe("Add up values, not losses: a sum of losses keeps every graph.",
            f"{_NET}total = 0.0\nfor step in range(3):\n    opt.zero_grad()\n    loss = net(torch.ones(4, 2)).pow(2).mean()\n"
            "    loss.backward()\n    opt.step()\n    total += loss.item()\n"),
        Recipe("Call `step()` after `backward()`: there are no gradients before it.",
            f"{_NET}loss = net(torch.ones(4, 2)).pow(2).mean()\nopt.zero_grad()\nloss.backward()\nopt.step()\n"),
        Recipe("Keep layers in attributes or an `nn.ModuleList`, so that `parameters()` gives them to the optimizer.",
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 1)])\n    def forward(self, x):\n"
            "        for layer in self.layers:\n            x = layer(x)\n        return x\nnet = Net()\n"
            "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet(torch.ones(4, 2)).sum().backward()\nopt.step()\n"),
        Recipe("Evaluate with `eval()` and `no_grad()`.",
            "net = nn.Linear(2, 1)\nnet.eval()\nwith torch.no_grad():\n    out = net(torch.ones(4, 2))\n"),
        Recipe("Create layers in `__init__`: forward would create a new one, with new random weights, at each call.",
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(2, 1)\n"
            "    def forward(self, x):\n        return self.layer(x)\nnet = Net()\nnet(torch.ones(4, 2)).sum().backward()\n"),
    ),
)
