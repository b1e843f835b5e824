"""torch.nn.functional's functions that are made of operations and are none themselves."""

from gradsh.engine.graph.tensor import Tensor
from gradsh.engine.registry import find


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Return a random sample that is nearly one-hot (with `hard` exactly, but with the soft sample's gradient)."""
    del eps
    gumbels = -find("empty")(logits.shape, dtype=logits.dtype).exponential_().log()  # whatever the layout of logits
    soft = find("softmax")((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    index = find("max")(soft, dim, keepdim=True)[1]
    chosen = find("zeros")(logits.shape, dtype=logits.dtype).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft
