"""The backward pass: which nodes, in what order, with what gradients."""
