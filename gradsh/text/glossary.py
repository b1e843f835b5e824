"""The terms of gradsh's output and documents, one definition each: `help TERM` and `docs/glossary.md` read them here."""

TERMS = {
    "AccumulateGrad": "The node of a leaf. It adds the incoming gradient to the leaf's `.grad`.",
    "backward": "One run of reverse-mode differentiation from a tensor: `loss.backward()`, `torch.autograd.grad` or the command "
    "`backward`. It computes gradients and frees buffers.",
    "buffer": "A saved tensor, counted in bytes. `buffers z` lists them.",
    "checkpoint": "A part of the forward that saves only its inputs and is recomputed during backward (`torch.utils.checkpoint`).",
    "create_graph": "An option of backward: record the backward itself, so that gradients can be differentiated again.",
    "detach": "`x.detach()` returns a tensor that shares the storage of x and has no graph. Gradients stop there.",
    "dry run": "A simulation that changes nothing. `plan z` is the dry run of `backward z`.",
    "edge": "The connection from a node to the node of one of its inputs (`grad_fn.next_functions`). Gradients flow along edges.",
    "expectation": "A comment in a script that states the expected output (`#>`) or failure (`#!`) of the statement above it.",
    "fix": "An edit of the program that removes an error. gradsh runs each fix in a copy of the program before it shows it.",
    "freed": "The state of a saved tensor that a backward has dropped. A second backward through its node fails; see `explain freed`.",
    "golden test": "A script with expectations. `gradsh test` runs it and compares the output.",
    "grad": "The sum of the gradients that backwards have computed for a tensor; None before the first one. "
    "`x.grad = None` resets it.",
    "grad_fn": "The node that computed a tensor. None for a leaf, and for a tensor without a graph.",
    "graph": "The nodes that a tensor was computed by, connected by edges. It lives as long as a tensor or variable refers to it.",
    "hint": "A note about a mistake that raises no error, such as a missing `zero_grad()`; see `explain silent`.",
    "holder": "Anything that keeps a storage alive: a variable, a list item, a view, a saved tensor, a gradient. `holders x` lists them.",
    "hook": "A function that runs during backward with a gradient: `x.register_hook(f)`. Its result replaces the gradient.",
    "in-place operation": "An operation that writes into an existing tensor: `add_`, `x[0] = 1`, `+=`. It increases the version.",
    "iteration": "One run of the body of a loop. Iterations are counted from 1.",
    "kind": "The stable name of a class of errors, such as `freed` or `version`; `explain` lists all kinds.",
    "leaf": "A tensor that no recorded operation computed. Backward writes `.grad` only to leaves that require grad.",
    "live": "The state of a saved tensor that is still in memory.",
    "no_grad": "A context in which operations are not recorded: results have no graph, and nothing is saved.",
    "node": "A recorded operation in the graph, such as `MulBackward0`. It holds its saved tensors and its edges.",
    "packed": "The state of a saved tensor that a saved-tensor hook has replaced with another object.",
    "peak": "The largest number of bytes in use at one time.",
    "pinned": "The state of a saved tensor that no backward frees. `retain z` pins the graph of z, `release z` removes the pin.",
    "recomputed": "The state of a saved tensor that is not kept, because a checkpoint computes it again during backward.",
    "releasing": "How much memory a free returns. It is less than the freed bytes where a variable or view still uses the storage.",
    "requires_grad": "Whether operations on a tensor are recorded. It is set on a leaf; a result has it if one of its inputs does.",
    "retain_grad": "`h.retain_grad()` makes backward write `.grad` for a tensor that is not a leaf.",
    "retain_graph": "An option of backward: free no buffers, so that another backward can follow (`backward z --retain`).",
    "root": "A tensor that a backward starts from.",
    "saved tensor": "A tensor that a node keeps because its derivative needs it. A backward frees it after it ran the node.",
    "scalar": "A tensor of one element. Backward can start from it without an explicit gradient.",
    "statement": "One line or block of a program. Messages count statements by their first line.",
    "storage": "The memory that holds the elements of a tensor. A tensor, its views and its detached copies share one storage.",
    "version": "A counter of the in-place writes to a storage. Backward fails if a saved tensor's version has changed.",
    "view": "A tensor that shares the storage of another, its base: a write to one changes the other, and they have one version.",
}  # fmt: skip
_SPELLED = {term.lower().replace("_", " ").replace("-", " "): term for term in TERMS} | {
    "inplace": "in-place operation", "pin": "pinned",
}


def term_of(text: str) -> str:
    """Return the term that a text spells, or begins (`dry`, `saved`, `In_Place`); empty where there is none."""
    spelled = text.lower().replace("_", " ").replace("-", " ").strip()
    return _SPELLED.get(spelled) or next((term for known, term in _SPELLED.items() if known.startswith(f"{spelled} ")), "")
