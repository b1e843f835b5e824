"""`explain forward`: what forward mode computes, what it keeps, and what it does not save."""

from gradsh.text.kind import Kind, Way

_IMPORT = "from torch.autograd import forward_ad as fwAD\n"

FORWARD = Kind(
    "forward",
    "forward mode: derivatives that go along with the values, for which nothing is saved",
    (),
    "Backward needs what the forward computed, so every node saves it until its pass. In forward mode each operation computes its"
    " result's tangent at once, from its inputs' tangents. Where no input requires grad no node is made and nothing is saved:"
    " `graph` and `buffers` show nothing, there is no pass, and no write in place comes too late. A tangent lives as long as its"
    " tensor, and ends with the level. One run gives one direction: the derivatives by n inputs take n runs, where one backward"
    " gives the derivatives of one output by all of them. Tensors that require grad save for backward as always, and their tangents"
    " have graphs, too.",
    f"{_IMPORT}x = torch.ones(3)\nwith fwAD.dual_level():\n    dual = fwAD.make_dual(x, torch.tensor([1., 0., 0.]))\n"
    "    y = (dual * dual).exp()\n    print(fwAD.unpack_dual(y).tangent)\nprint(y.grad_fn)\n",
    (
        Way("Ask for the product of a Jacobian with a vector without levels: `torch.func.jvp`.",
            "x = torch.ones(3)\nprint(torch.func.jvp(torch.exp, (x,), (torch.ones(3),)))\n"),
        Way("Give a function of your own a `jvp` beside its `backward`.",
            "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
            "    @staticmethod\n    def backward(ctx, grad):\n        return grad * 2\n"
            "    @staticmethod\n    def jvp(ctx, tangent):\n        return tangent * 2\n"
            "print(torch.func.jvp(Double.apply, (torch.ones(2),), (torch.ones(2),)))\n"),
        Way("Hold both modes against each other and against finite differences: `gradcheck(…, check_forward_ad=True)`.",
            "x = torch.rand(3, dtype=torch.float64, requires_grad=True)\n"
            "print(torch.autograd.gradcheck(torch.tanh, x, check_forward_ad=True))\n"),
    ),
)
