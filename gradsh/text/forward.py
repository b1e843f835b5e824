"""`explain forward`: what forward mode computes, what it keeps, and what it does not save."""

from gradsh.text.kind import Kind, Recipe

_IMPORT = "from torch.autograd import forward_ad as fwAD\n"

FORWARD = Kind(
    "forward",
    "forward mode: derivatives are computed with the values, and nothing is saved",
    (),
    "Backward needs values of the forward, so every node saves them until it runs. In forward mode each operation computes its"
    " result's tangent at once, from its inputs' tangents. If no input requires grad, no node is made and nothing is saved:"
    " `graph` and `buffers` show nothing, there is no backward, and in-place writes do no harm. A tangent lives as long as its"
    " tensor, at most until the level ends. One run computes one direction: the derivatives by n inputs take n runs; one backward"
    " computes the derivatives of one output by all inputs. Tensors that require grad save for backward as usual, and their tangents"
    " have graphs, too.",
    f"{_IMPORT}x = torch.ones(3)\nwith fwAD.dual_level():\n    dual = fwAD.make_dual(x, torch.tensor([1., 0., 0.]))\n"
    "    y = (dual * dual).exp()\n    print(fwAD.unpack_dual(y).tangent)\nprint(y.grad_fn)\n",
    (
        Recipe("Compute a Jacobian-vector product without levels: `torch.func.jvp`.",
            "x = torch.ones(3)\nprint(torch.func.jvp(torch.exp, (x,), (torch.ones(3),)))\n"),
        Recipe("Give a custom function a `jvp` as well as a `backward`.",
            "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
            "    @staticmethod\n    def backward(ctx, grad):\n        return grad * 2\n"
            "    @staticmethod\n    def jvp(ctx, tangent):\n        return tangent * 2\n"
            "print(torch.func.jvp(Double.apply, (torch.ones(2),), (torch.ones(2),)))\n"),
        Recipe("Compare both modes with each other and with finite differences: `gradcheck(…, check_forward_ad=True)`.",
            "x = torch.rand(3, dtype=torch.float64, requires_grad=True)\n"
            "print(torch.autograd.gradcheck(torch.tanh, x, check_forward_ad=True))\n"),
    ),
)
