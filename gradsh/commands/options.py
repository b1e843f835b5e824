"""What each option of the commands does, for `help COMMAND`, completion and the man page."""

OPTIONS = {
    "grad": "the gradient of each tensor, in order",
    "retain --grad": "keep the grad of a tensor that is not a leaf",
    "retain": "free nothing: another backward can follow", "create-graph": "record the backward itself, for second derivatives",
    "inputs": "compute only the gradients of these tensors", "plan": "dry run: show what backward would do, run nothing",
    "step": "stop after each node and ask how to continue",
    "fits": "the bytes of a training step, and whether it fits in SIZE (`24G`)",
    "vary": "find the largest value that fits, for an integer that the script assigns",
    "if": 'the backward as it would be after a change ("retain h", "detach h", "checkpoint net[0]", "no_grad net[0]")',
    "best": "propose modules to checkpoint, so that the peak is at most SIZE",
    "free": "free the buffers that no pin holds", "depth": "draw at most N levels",
    "expand": "draw every node", "limit": "draw at most N nodes",
    "open": "draw the nodes of this module (`net.layers[0]`) or function singly", "from": "start at these tensors too",
    "to": "draw only paths to these tensors",
    "state": "draw only nodes with saved tensors in this state", "name": "draw only nodes whose operation contains WORD",
    "live": "list only what is not freed", "freed": "list only what is freed", "sort": "order the rows",
    "by": "group the rows, or draw the nodes of each as one",
    "off": "stop watching the expression, or all if none is given", "export": "write a transcript to FILE",
    "expect": "with the output of each statement, as a golden test",
    "format": "the output format: text, json", "graph --format": "the output format: text, json, dot, svg, png, mermaid",
    "memory --format": "the output format: text, json, svg, png", "output": "write the result to FILE",
}  # fmt: skip
"""What each option of the commands does, by its name, or by command and name where it means something else there."""
