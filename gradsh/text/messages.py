"""Messages of PyTorch that `explain` knows although their failures are of the kind `other`, or warnings.

The last statement of each example prints the message; every way runs without an error.
"""

from gradsh.text.kind import Kind, Recipe

_LEAF = "x = torch.ones(2, requires_grad=True)\n"

MESSAGES = {kind.name: kind for kind in (
    Kind(
        "numpy",
        "numpy asks for the values of a tensor that requires grad",
        ("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",),
        "A numpy array has no graph, so gradients would stop there unnoticed. PyTorch asks you to write this out with `detach()`."
        " Plot functions, sklearn, `np.array(x)` and `x * array` call `numpy()` too.",
        f"{_LEAF}(x * 2).numpy()\n",
        (
            Recipe("For plots, metrics and logs: detach first.", f"{_LEAF}values = (x * 2).detach().numpy()\n"),
            Recipe("For one number: use `item()`.", f"{_LEAF}value = (x * 2).sum().item()\n"),
            Recipe("In evaluation, record no graph.", f"{_LEAF}with torch.no_grad():\n    values = (x * 2).numpy()\n"),
            Recipe("Where gradients must flow: use the torch function instead of the numpy function.",
                f"{_LEAF}torch.exp(x).sum().backward()\n"),
            Recipe("Beside an array: make a tensor of the array.", "import numpy as np\na = np.ones(2)\n"
                f"{_LEAF}(x * torch.from_numpy(a).float()).sum().backward()\n"),
        ),
    ),
    Kind(
        "non_leaf_grad",
        "the grad of a tensor that is not a leaf is read, and is None",
        ("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed.",),
        "Backward writes `.grad` only to leaves that require grad. A tensor that an operation computed is not a leaf; this includes"
        " `torch.ones(2, requires_grad=True).to(device)` and `torch.ones(2, requires_grad=True) * 2`.",
        f"{_LEAF}h = x * 2\nh.sum().backward()\nprint(h.grad)\n",
        (
            Recipe("Call `retain_grad()` before the backward.", f"{_LEAF}h = x * 2\nh.retain_grad()\nh.sum().backward()\nprint(h.grad)\n"),
            Recipe("Read the grad of the leaf.", f"{_LEAF}h = x * 2\nh.sum().backward()\nprint(x.grad)\n"),
            Recipe("Set requires_grad after the last operation, so that the result is a leaf.",
                "x = (torch.ones(2) * 2).requires_grad_()\nx.sum().backward()\nprint(x.grad)\n"),
        ),
    ),
    Kind(
        "nan",
        "anomaly detection found a gradient that is not a number",
        ("returned nan values in its 0th output.", "returned nan values in its 1th output."),
        "The derivative of a node is infinite or undefined at its input, such as sqrt at 0, and the product"
        " with a gradient of 0 is nan."
        " `torch.autograd.set_detect_anomaly(True)` stops at the first such node;"
        " the warning before the error names the line of the forward.",
        "x = torch.zeros(1, requires_grad=True)\nwith torch.autograd.set_detect_anomaly(True):\n"
        "    y = torch.sqrt(x) * 0\n    y.sum().backward()\n",
        (
            Recipe("Keep the input away from the singular point.",
                "x = torch.zeros(1, requires_grad=True)\ntorch.sqrt(x + 1e-8).sum().backward()\n"),
            Recipe("Replace the input before the operation, not its result after it: the gradient of `where` does not remove the nan.",
                "x = torch.zeros(1, requires_grad=True)\nsafe = torch.where(x > 0, x, torch.ones(1))\n"
                "torch.where(x > 0, torch.sqrt(safe), torch.zeros(1)).sum().backward()\n"),
            Recipe("Use the stable form of a loss.",
                "scores = torch.zeros(1, requires_grad=True)\n"
                "torch.nn.functional.binary_cross_entropy_with_logits(scores, torch.ones(1)).backward()\n"),
        ),
    ),
)}  # fmt: skip
"""By the name that `explain` takes."""
