"""The words that errors, tables and PyTorch's documentation use, explained for `help WORD`."""

WORDS = {
    "leaf": "A tensor that no recorded operation made: it has no grad_fn. Backward writes to the `.grad` of leaves that require grad.",
    "grad": "The gradient that backward passes have added up at a tensor; None before the first one. `x.grad = None` begins anew.",
    "grad_fn": "The node that made a tensor and that a backward runs for it; None for a leaf and for a tensor outside of a graph.",
    "requires_grad": "Whether operations on a tensor are recorded. A leaf's is set by hand; a result has it from its inputs.",
    "node": "A recorded operation in the graph: it knows the nodes before it and the tensors that it saved. `graph z` draws them.",
    "graph": "The nodes behind a tensor. It lives as long as a tensor or a variable leads to it.",
    "buffer": "A tensor that a node saved for its backward. A backward frees it; `buffers z` lists them, `retain z` keeps them.",
    "saved": "A saved tensor is what a node keeps for its backward; `buffers z` lists them.",
    "freed": "A backward has let go of what a node saved: a second backward through it fails; `explain freed` says more.",
    "version": "A counter of a memory's in-place writes. A backward fails where it is not what it was when the tensor was saved.",
    "view": "A tensor that shares its memory with another one: a write to one shows in the other, and both have one version.",
    "inplace": "An operation that writes into a tensor's memory (`add_`, `x[0] = 1`, `+=`). It raises the version.",
    "pin": "A promise that no backward frees what a part of a graph saved: `retain z` makes one, `release z` ends it.",
    "accumulategrad": "The node at a leaf: it adds what arrives to the leaf's `.grad`.",
    "hook": "A function that is called with a gradient on its way: `x.register_hook(f)` may return another one.",
    "detach": "`x.detach()` gives a tensor that shares the memory and is outside of the graph: no gradient passes.",
    "scalar": "A tensor of one element: backward begins from it without `--grad`.",
}  # fmt: skip
OPTIONS = {
    "grad": "the gradient to begin with, one for each tensor (`retain --grad`: keep the gradient of a tensor that is no leaf)",
    "retain": "free nothing: another backward can follow", "create-graph": "record the pass itself, for second derivatives",
    "inputs": "only the gradients of these tensors", "plan": "foretell the pass, and run nothing",
    "step": "go node by node, and ask between",
    "fits": "what a training step needs, and whether it fits into SIZE (`24G`)",
    "vary": "a number that the script assigns: the largest that fits",
    "free": "drop what no pin holds any more", "depth": "as many nodes deep",
    "expand": "draw every node", "limit": "draw as many nodes at most",
    "group": "draw repeated parts once", "from": "only what these tensors lead to", "to": "only what leads to these tensors",
    "state": "only nodes with saved tensors in this state", "name": "only nodes whose operation has this in its name",
    "live": "only what is not freed", "freed": "only what is freed", "sort": "the order of the rows", "by": "one row for each",
    "off": "watch no more (without an expression: nothing)", "export": "write a transcript to the file",
    "expect": "with what the statements show, as a golden test",
    "format": "how the result is shown: text, json, for graphs dot, mermaid, svg, png", "output": "write the result to the file",
}  # fmt: skip
"""What each option of the commands does, by its name."""
